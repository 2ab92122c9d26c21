// SPDX-License-Identifier: GPL-2.0-or-later
public import TactusChoices

extension SurfaceState {
  /// The lists that the user has made.
  public struct UserLists: Hashable, Sendable {
    /// Learned bindings of keys, knobs and pedals, as text.
    public var learned: [String] = []
    /// The channels of Link Audio that the user wants, in the form of `--send` and `--receive`.
    public var sends: [String] = []
    public var receives: [String] = []
    /// The other rooms that tactus calls, in the form of `--link-to`.
    public var calls: [String] = []
    /// The outputs that the user has added.
    public var outputs: [NamedOutput] = []
    /// The set list.
    public var songs: [SetSong] = []

    public init() {}
  }

  public struct LinkState: Hashable, Sendable {
    /// Whether tactus takes part in Link, as `--life` decides.
    public var isActive = true
    public var peers = 0
    /// The addresses of the peers, as `peers/list` sends them. The text is made when the peers change, not
    /// each time that all rows are read.
    public var peerList = ""
    /// Whether the session plays (Link's start/stop state).
    public var isPlaying = false

    public init() {}
  }

  /// JACK's server, its other clients and the ports of tactus.
  public struct JACKState: Hashable, Sendable {
    /// Whether tactus is connected to a server.
    public var isRunning = false
    public var clientName = ""
    public var sampleRate = 0
    public var framesPerCycle = 0
    public var xruns = 0
    public var refusedLatencies = 0
    public var timebase = Timebase.nobody
    /// Whether tactus is still timebase master although the user no longer wants it: if it gave the timebase
    /// up while the transport rolls, JACK would relocate all clients.
    public var leavesTimebase = false
    /// The outputs at which other programs are heard, and why these were chosen.
    public var sinks = ""
    public var sinkState = SinkState.none
    public var latencyMilliseconds = PerPort(repeating: 0.0)
    public var isClickConnected = false
    /// The states of the user's own outputs, by name.
    public var outputHealth: [String: OutputHealth] = [:]
    /// Corrections of a host's drift since tactus started.
    public var corrections = 0

    public init() {}
  }

  /// The owner of the bar and beat that JACK's transport shows.
  public enum Timebase: Hashable, Sendable {
    case nobody, tactus
    case other(String)
    case unknown
  }

  /// Figures of the audio cycle, rounded to what a musician can use.
  public struct Readings: Hashable, Sendable {
    public var driftPartsPerMillion = 0.0
    public var launchErrorMilliseconds = 0.0
    /// Whether there was a launch since tactus started. Before the first launch, the launch error
    /// has no meaning.
    public var hasLaunched = false
    public var leadErrorMilliseconds = 0.0
    /// How far a host that counts frames lags behind the session, in milliseconds.
    public var lagMilliseconds = 0.0
    /// How far the song is ahead of its place in the session, in milliseconds.
    public var songOffsetMilliseconds = 0.0
    /// How far the user's bend has moved the outputs ahead of the session, in milliseconds.
    public var aheadMilliseconds = 0.0
    /// Jitter of the clock and the pulses, in microseconds.
    public var jitterMicros = PerPort(repeating: 0.0)
    public var lostCycles = 0
    public var movedLaunches = 0

    public init() {}
  }

  /// The addresses at which browsers reach the page, and the addresses at which they cannot reach
  /// it.
  public struct Page: Hashable, Sendable {
    public var reach = PageReach.off
    /// For each address at which the page is missing, the reason.
    public var missing: [String] = []

    public init() {}
  }

  /// The result of the last request to save, and the number of requests.
  public struct SaveResult: Hashable, Sendable {
    public var words = ""
    public var hasFailed = false
    public var count = 0

    public init() {}
  }
}
