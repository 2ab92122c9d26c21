// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath

/// What a peer says about itself and its session in every Alive and Response.
///
/// An entry that the packet lacks leaves its zero here: that is not an error. A state without a timeline has the
/// tempo 0, which nobody may adopt.
public struct PeerState: Hashable, Sendable, BitwiseCopyable {
  /// The peer itself; it has another id after each reset.
  public var node: NodeID
  /// The session that it is in; its own id if it founded it.
  public var session: SessionID
  /// In the session's ghost time.
  public var timeline: Timeline
  /// The last start or stop in the session, in its ghost time; `.unset` if there was none.
  public var startStop: SessionStartStop
  /// Where it answers pings; an IPv6 one comes without a scope.
  public var measurement: Endpoint?
  /// Only tactus says it; the reference's peers skip it.
  public var clock: ClockOrigin?
  /// Where its audio socket is reached, while it takes part in Link Audio; an IPv6 one comes without a scope.
  public var audio: Endpoint?

  /// What is nil is not sent.
  @_noLocks @_noAllocation
  public init(
    node: NodeID, session: SessionID, timeline: Timeline, startStop: SessionStartStop,
    measurement: Endpoint?, clock: ClockOrigin? = nil, audio: Endpoint? = nil
  ) {
    self.node = node
    self.session = session
    self.timeline = timeline
    self.startStop = startStop
    self.measurement = measurement
    self.clock = clock
    self.audio = audio
  }
}

/// Whose clock a peer tells its session's time by, and how many measurements lie between: 0, its own.
public struct ClockOrigin: Hashable, Sendable, BitwiseCopyable {
  /// The peer by whose clock it goes in the end.
  public var root: NodeID
  /// Measurements between that peer and this one, each with its error.
  public var steps: UInt8
  /// Counts, so far that it never comes round to what somebody has seen: a peer that asked before this changed has to ask again.
  public var jumps: UInt32
  /// The root is a peer of the reference's, which says nothing of its clock, and seems to have the founder's.
  public var isInferred: Bool

  /// The clock of `root`, by so many measurements.
  @_noLocks @_noAllocation
  public init(root: NodeID, steps: UInt8, jumps: UInt32 = 0, isInferred: Bool = false) {
    self.root = root
    self.steps = steps
    self.jumps = jumps
    self.isInferred = isInferred
  }
}

/// The first twenty bytes of a discovery datagram. Decoded on its own because an Alive is answered even when the
/// rest of it is broken (facts: link 1 rule 7, 3.3).
public struct DiscoveryHeader: Hashable, Sendable, BitwiseCopyable {
  /// The three things that peers say in discovery.
  public enum Kind: Hashable, Sendable, BitwiseCopyable {
    /// A peer is here: to all, and all answer.
    case alive
    /// The answer to an Alive, to its sender alone.
    case response
    /// A peer leaves: to all.
    case byeBye

    @_noLocks @_noAllocation
    init?(code: UInt8) {
      switch code {
      case 1: self = .alive
      case 2: self = .response
      case 3: self = .byeBye
      default: return nil
      }
    }

    var code: UInt8 {
      @_noLocks @_noAllocation get {
        switch self {
        case .alive: 1
        case .response: 2
        case .byeBye: 3
        }
      }
    }
  }

  /// Whether a state follows, and whether an answer is due.
  public var kind: Kind
  /// Seconds.
  public var timeToLive: UInt8
  /// Who sent it, as it says: nothing proves that.
  public var node: NodeID

  @_noLocks @_noAllocation
  init(kind: Kind, timeToLive: UInt8, node: NodeID) {
    self.kind = kind
    self.timeToLive = timeToLive
    self.node = node
  }
}

/// A whole discovery datagram.
public enum DiscoveryMessage: Hashable, Sendable, BitwiseCopyable {
  /// A peer's state, told to all; to be believed for `ttl` seconds.
  case alive(PeerState, ttl: UInt8)
  /// A peer's state, in answer to an Alive; to be believed for `ttl` seconds.
  case response(PeerState, ttl: UInt8)
  /// This peer has left.
  case byeBye(NodeID)
}

/// A whole measurement datagram.
public enum MeasurementMessage: Sendable, BitwiseCopyable {
  /// Asks for the session's time.
  case ping(EchoPayload)
  /// Tells the session's time to who asked.
  case pong(Pong)
}

/// What a ping carries. It is not looked into: the answer repeats it byte for byte, whatever it is.
public struct EchoPayload: Sendable, BitwiseCopyable {
  var storage: InlineArray<32, UInt8>
  /// Bytes, at most `Wire.maximumEchoSize`.
  public private(set) var count: Int

  /// At most `Wire.maximumEchoSize` bytes: more are not taken.
  @_noLocks @_noAllocation
  init(copying bytes: UnsafeRawBufferPointer, from start: Int) {
    storage = InlineArray(repeating: 0)
    count = 0
    var index = start
    while index < bytes.count && count < 32 {
      storage[count] = bytes[index]
      count &+= 1
      index &+= 1
    }
  }

  /// The byte at `index`, 0 outside.
  @_noLocks @_noAllocation
  public func byte(at index: Int) -> UInt8 {
    index >= 0 && index < count ? storage[index] : 0
  }
}

/// The answer to a ping. A time that is 0 was not given.
public struct Pong: Hashable, Sendable, BitwiseCopyable {
  /// The session that the answering peer is in.
  public var session: SessionID
  /// The answering peer's ghost time when it answered.
  public var ghost: Micros
  /// Our host time, as our ping carried it.
  public var host: Micros
  /// The ghost time of the pong before, as our ping carried it.
  public var previousGhost: Micros
  /// The answering peer's own host time when it answered: only a relay says it, to another.
  public var relay: Micros

  /// All times in microseconds; only to another relay with `relay`.
  @_noLocks @_noAllocation
  public init(
    session: SessionID, ghost: Micros, host: Micros, previousGhost: Micros, relay: Micros = .zero
  ) {
    self.session = session
    self.ghost = ghost
    self.host = host
    self.previousGhost = previousGhost
    self.relay = relay
  }
}
