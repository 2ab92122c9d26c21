// SPDX-License-Identifier: GPL-2.0-or-later
import CJACK
public import Choices

/// How many frames JACK says that it takes from each output port to the ear, as last seen: of several routes the longest, as most
/// JACK programs do. Of `jack`: of the physical outputs that somebody plays through, since it is other clients' sound that is heard
/// there. Of `control`: from a device to here.
public struct PortLatencies: Hashable, Sendable, BitwiseCopyable {
  private(set) var frames = PerPort<UInt32>(repeating: 0)
  /// What the MIDI bridge behind a port adds without saying so; already part of its frames.
  private var unreported = PerPort<UInt32>(repeating: 0)

  static let zero = PortLatencies()

  public subscript(port: Port) -> UInt32 { frames[port] }
}

extension PortLatencies {
  /// All of it. Asks the server for lists of ports: not in every step. [control]
  static func read(
    client: OpaquePointer, ports: PortHandles, implementation: JACKImplementation
  ) -> PortLatencies {
    var latencies = PortLatencies()
    let rate = jack_get_sample_rate(client)
    latencies.frames[.jack] = ofPhysicalOutputs(client: client, rate: rate)
    for port in Port.registered where port.shown.signal == .midi {
      latencies.unreported[port] = unreportedMIDILatency(
        client: client, port: ports[port], known: frames(of: port, ports, rate: rate),
        implementation: implementation)
    }
    latencies.readOwn(ports, rate: rate)
    return latencies
  }

  /// Our own ports only: reads of shared memory. [control]
  mutating func readOwn(_ ports: PortHandles, rate: UInt32) {
    for port in Port.registered { frames[port] = Self.frames(of: port, ports, rate: rate) + unreported[port] }
  }

  /// jack2's ALSA bridges delay by a period and report nothing (facts: jack 9).
  private static func unreportedMIDILatency(
    client: OpaquePointer, port: OpaquePointer?, known: UInt32, implementation: JACKImplementation
  ) -> UInt32 {
    guard known == 0 else { return 0 }
    let others = portNames(jack_port_get_all_connections(client, port))
    let bridged = others.contains(where: implementation.isSilentlyLateMIDI(port:))
    return bridged ? jack_get_buffer_size(client) : 0
  }

  /// For an output port: how long until what it carries reaches the end of its routes. For an input port: how long ago what it
  /// carries came in at their beginning.
  private static func frames(of port: Port, _ ports: PortHandles, rate: UInt32) -> UInt32 {
    frames(of: ports[port], port.isOutput ? JackPlaybackLatency : JackCaptureLatency, rate: rate)
  }

  /// Of one of the user's own outputs, with what a bridge behind it does not say.
  static func toEar(
    _ port: OpaquePointer, isMIDI: Bool, client: OpaquePointer, _ implementation: JACKImplementation
  ) -> UInt32 {
    let known = frames(of: port, JackPlaybackLatency, rate: jack_get_sample_rate(client))
    guard isMIDI else { return known }
    return known
      + unreportedMIDILatency(client: client, port: port, known: known, implementation: implementation)
  }

  /// The longest latency that is believed, in seconds. A longer one is garbage, as of a client that never wrote its range.
  static let longest: UInt32 = 2

  /// The latency, or 0 instead of an impossible one.
  static func plausible(_ frames: UInt32, sampleRate: UInt32) -> UInt32 {
    frames > longest &* min(sampleRate, 1_000_000) ? 0 : frames
  }

  private static func frames(of port: OpaquePointer?, _ mode: JackLatencyCallbackMode, rate: UInt32) -> UInt32
  {
    var range = jack_latency_range_t()
    jack_port_get_latency_range(port, mode, &range)
    return plausible(range.max, sampleRate: rate)
  }

  /// Over the physical outputs that are connected, or over all if none is.
  private static func ofPhysicalOutputs(client: OpaquePointer, rate: UInt32) -> UInt32 {
    let flags = UInt(JackPortIsPhysical.rawValue | JackPortIsInput.rawValue)
    let handles = portNames(jack_get_ports(client, nil, JACK_DEFAULT_AUDIO_TYPE, flags))
      .compactMap { jack_port_by_name(client, $0) }
    let used = handles.filter { portNames(jack_port_get_all_connections(client, $0)).isEmpty == false }
    return (used.isEmpty ? handles : used).map { frames(of: $0, JackPlaybackLatency, rate: rate) }.max() ?? 0
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
