// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK
import LinkBeatMath
public import TactusChoices

/// The latency that JACK reports from each output port to the ear, in frames, as last read. If a port has
/// several routes, the longest one counts, as in most JACK programs. The latency of `jack` is that of the
/// sinks that `SinkRule` chooses, where other clients are heard. The latency of `control` is that from a MIDI
/// device to this port.
public struct PortLatencies: Hashable, Sendable, BitwiseCopyable {
  private(set) var frames = PerPort<UInt32>(repeating: 0)
  /// The latency that the MIDI bridge behind a port adds without reporting it. `frames` already includes this
  /// latency.
  private var unreported = PerPort<UInt32>(repeating: 0)

  static let zero = PortLatencies()

  public subscript(port: Port) -> UInt32 { frames[port] }

  /// The longest latency that we believe, in seconds. A longer latency is garbage, for instance from a client
  /// that never wrote its latency range.
  static let longest: UInt32 = 2

  /// Returns the latency, or 0 if the latency is impossible.
  static func plausible(_ frames: UInt32, sampleRate: UInt32) -> UInt32 {
    frames > longest &* min(sampleRate, 1_000_000) ? 0 : frames
  }
}

extension PortLatencies {
  /// Reads the latencies that depend on other clients' connections: the latency of `jack`, and the delays
  /// that MIDI bridges add. [control]
  fileprivate mutating func readOthers(_ ports: PortHandles, sinks: [String], by reader: LatencyReader) {
    frames[.jack] =
      sinks.map { reader.frames(of: jack_port_by_name(reader.client, $0), JackPlaybackLatency) }.max() ?? 0
    for port in Port.registered where port.shown.signal == .midi {
      unreported[port] = reader.unreportedMIDI(
        ports[port], known: reader.frames(of: ports[port], port.latency))
    }
  }

  /// Reads the latencies of our own ports, from shared memory only. [control]
  fileprivate mutating func readOwn(_ ports: PortHandles, by reader: LatencyReader) {
    for port in Port.registered {
      frames[port] = reader.frames(of: ports[port], port.latency) + unreported[port]
    }
  }
}

extension Port {
  fileprivate var latency: JackLatencyCallbackMode { isOutput ? JackPlaybackLatency : JackCaptureLatency }
}

/// The latencies on one server, read again whenever they may have changed. [control]
struct LatencyWatch {
  /// The time between two looks at the sinks: JACK does not notify us when other clients' connections to the
  /// sinks change.
  private static let interval = Micros(1_000_000)
  /// The times, counted from a change of the period, at which the latencies are computed again. JACK reports
  /// a new period before every driver has corrected its own ports.
  private static let recomputeAfter = [Micros(0), Micros(50_000), Micros(500_000)]

  /// The choices and the state by which `SinkRule` chooses the sinks.
  struct Wish: Equatable {
    var sink = ChosenName()
    /// The full names of our clicks' ports.
    var clicks: [String] = []
    var isMoving = false
  }

  private(set) var latencies = PortLatencies.zero
  private(set) var sinks = SinkChoice.none
  private var wish = Wish()
  private var nextLook = Micros.zero
  private var recomputations: [Micros] = []

  /// Reads the latencies if they may have changed, and returns whether they did.
  mutating func step(
    on client: JACKClient, _ ports: PortHandles, _ wish: Wish, notices: Notices, by reader: LatencyReader,
    at now: Micros
  ) -> Bool {
    let before = latencies
    if !notices.isDisjoint(with: [.period, .sampleRate]) {
      recomputations = Self.recomputeAfter.map { now + $0 }
    }
    let isDue = recomputations.contains { $0 <= now }
    if isDue {
      recomputations.removeAll { $0 <= now }
      // Our ports keep the old period's latency until a client asks for this computation (facts: jack 9).
      jack_recompute_total_latencies(client.handle)
    }
    if isDue || notices.contains(.graph) || now >= nextLook || wish != self.wish {
      nextLook = now + Self.interval
      let graph = ServerGraph(client, .loaded)
      sinks = SinkRule.choose(
        in: graph, for: wish.sink, clicks: wish.clicks, before: sinks, isMoving: wish.isMoving)
      latencies.readOthers(ports, sinks: sinks.ports, by: reader)
      self.wish = wish
    }
    latencies.readOwn(ports, by: reader)
    return latencies != before
  }
}

/// Copies and frees a list that libjack allocated. [control]
func portNames(_ list: UnsafeMutablePointer<UnsafePointer<CChar>?>?) -> [String] {
  guard let list else { return [] }
  defer { jack_free(list) }
  var names: [String] = []
  var place = 0
  while let name = list[place] {
    names.append(String(cString: name))
    place += 1
  }
  return names
}
