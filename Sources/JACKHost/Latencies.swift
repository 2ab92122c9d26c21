// SPDX-License-Identifier: GPL-2.0-or-later
import CJACK
public import Choices

/// How long JACK says that frames take from here to the ear, over all routes.
public struct LatencyRange: Hashable, Sendable, BitwiseCopyable {
  public var shortest: UInt32
  public var longest: UInt32

  public static let zero = LatencyRange(shortest: 0, longest: 0)
}

/// Playback latency in frames, per output port, as last seen. Of `jack`: of the physical outputs that somebody plays through,
/// since it is other clients' sound that is heard there. Of `control`: from a device to here.
public struct PortLatencies: Hashable, Sendable, BitwiseCopyable {
  private var ranges = PerPort(repeating: LatencyRange.zero)
  /// What the MIDI bridge behind a port adds without saying so; already part of its range.
  private var unreported = PerPort<UInt32>(repeating: 0)

  public static let zero = PortLatencies()

  public subscript(port: Port) -> LatencyRange { ranges[port] }

  /// What the audio thread counts with: of several routes the longest, as most JACK programs do.
  public var longest: PerPort<UInt32> {
    var longest = PerPort<UInt32>(repeating: 0)
    for port in Port.all { longest[port] = ranges[port].longest }
    return longest
  }
}

extension PortLatencies {
  /// Everything, anew. Asks the server for lists of ports: not in every step. [control]
  static func read(
    client: OpaquePointer, ports: PortHandles, implementation: JACKImplementation
  ) -> PortLatencies {
    var latencies = PortLatencies()
    latencies.ranges[.jack] = .ofPhysicalOutputs(client: client)
    for port in Port.registered where port.shown.signal == .midi {
      latencies.unreported[port] = unreportedMIDILatency(
        client: client, port: ports[port], known: .of(port, ports), implementation: implementation)
    }
    latencies.readOwn(ports)
    return latencies
  }

  /// Our own ports only: reads of shared memory. [control]
  mutating func readOwn(_ ports: PortHandles) {
    for port in Port.registered {
      ranges[port] = .of(port, ports)
      ranges[port].shortest &+= unreported[port]
      ranges[port].longest &+= unreported[port]
    }
  }

  /// jack2's ALSA bridges delay by a period and report nothing (facts: jack 9).
  private static func unreportedMIDILatency(
    client: OpaquePointer, port: OpaquePointer?, known: LatencyRange, implementation: JACKImplementation
  ) -> UInt32 {
    guard known.longest == 0 else { return 0 }
    let others = portNames(jack_port_get_all_connections(client, port))
    let bridged = others.contains(where: implementation.isSilentlyLateMIDI(port:))
    return bridged ? jack_get_buffer_size(client) : 0
  }
}

extension LatencyRange {
  /// For an output port: how long until what it carries reaches the end of its routes. For an input port: how long ago what it
  /// carries came in at their beginning.
  static func of(_ port: Port, _ ports: PortHandles) -> LatencyRange {
    of(ports[port], port.isOutput ? JackPlaybackLatency : JackCaptureLatency)
  }

  private static func of(_ port: OpaquePointer?, _ mode: JackLatencyCallbackMode) -> LatencyRange {
    var range = jack_latency_range_t()
    jack_port_get_latency_range(port, mode, &range)
    return LatencyRange(shortest: range.min, longest: range.max)
  }

  /// Over the physical outputs that are connected, or over all if none is.
  static func ofPhysicalOutputs(client: OpaquePointer) -> LatencyRange {
    let flags = UInt(JackPortIsPhysical.rawValue | JackPortIsInput.rawValue)
    let handles = portNames(jack_get_ports(client, nil, JACK_DEFAULT_AUDIO_TYPE, flags))
      .compactMap { jack_port_by_name(client, $0) }
    let used = handles.filter { portNames(jack_port_get_all_connections(client, $0)).isEmpty == false }
    let ranges = (used.isEmpty ? handles : used).map { of($0, JackPlaybackLatency) }
    return LatencyRange(
      shortest: ranges.map(\.shortest).min() ?? 0, longest: ranges.map(\.longest).max() ?? 0)
  }
}

/// Takes over a list that libjack allocated. [control]
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
