// SPDX-License-Identifier: GPL-2.0-or-later
import CJACK
import HostSync

/// How long JACK says that frames take from here to the ear, over all routes.
public struct LatencyRange: Hashable, Sendable, BitwiseCopyable {
  public var shortest: UInt32
  public var longest: UInt32

  public static let zero = LatencyRange(shortest: 0, longest: 0)

  public init(shortest: UInt32, longest: UInt32) {
    self.shortest = shortest
    self.longest = longest
  }
}

/// Playback latency in frames, per output port, as last seen.
public struct PortLatencies: Hashable, Sendable, BitwiseCopyable {
  public var click1 = LatencyRange.zero
  public var click2 = LatencyRange.zero
  public var pulse = LatencyRange.zero
  public var run = LatencyRange.zero
  public var clock = LatencyRange.zero
  /// The physical outputs that somebody plays through: what the timebase has to count with, since it is
  /// other clients' sound that is heard there.
  public var physical = LatencyRange.zero
  /// From a device to `control`; what a MIDI bridge adds without saying so is part of it.
  public var control = LatencyRange.zero
  public var unreportedControl: UInt32 = 0
  /// What the MIDI bridge behind `clock` adds without saying so; already part of `clock`.
  public var unreportedMIDI: UInt32 = 0

  public static let zero = PortLatencies()

  /// What the audio thread counts with: of several routes the longest, as most JACK programs do.
  var forAudio: Latencies {
    Latencies(
      click1: click1.longest, click2: click2.longest, clock: clock.longest, pulse: pulse.longest,
      run: run.longest, physical: physical.longest, control: control.longest)
  }
}

extension PortLatencies {
  /// Everything, anew. Asks the server for lists of ports: not in every step. [control]
  static func read(
    client: OpaquePointer, ports: PortHandles, implementation: JACKImplementation
  ) -> PortLatencies {
    var latencies = PortLatencies()
    latencies.physical = .ofPhysicalOutputs(client: client)
    latencies.unreportedMIDI = unreportedMIDILatency(
      client: client, port: ports.clock, known: .playback(of: ports.clock), implementation: implementation)
    latencies.unreportedControl = unreportedMIDILatency(
      client: client, port: ports.control, known: .capture(of: ports.control), implementation: implementation)
    latencies.readOwn(ports)
    return latencies
  }

  /// Our own ports only: reads of shared memory. [control]
  mutating func readOwn(_ ports: PortHandles) {
    click1 = .playback(of: ports.click1)
    click2 = .playback(of: ports.click2)
    pulse = .playback(of: ports.pulse)
    run = .playback(of: ports.run)
    clock = .playback(of: ports.clock)
    clock.shortest &+= unreportedMIDI
    clock.longest &+= unreportedMIDI
    control = .capture(of: ports.control)
    control.shortest &+= unreportedControl
    control.longest &+= unreportedControl
  }

  /// jack2's ALSA bridges delay by a period and report nothing (facts: jack 9).
  private static func unreportedMIDILatency(
    client: OpaquePointer, port: OpaquePointer, known: LatencyRange, implementation: JACKImplementation
  ) -> UInt32 {
    guard known.longest == 0 else { return 0 }
    let others = portNames(jack_port_get_all_connections(client, port))
    let bridged = others.contains(where: implementation.isSilentlyLateMIDI(port:))
    return bridged ? jack_get_buffer_size(client) : 0
  }
}

extension LatencyRange {
  /// For an output port: how long until what it carries reaches the end of its routes.
  static func playback(of port: OpaquePointer) -> LatencyRange {
    var range = jack_latency_range_t()
    jack_port_get_latency_range(port, JackPlaybackLatency, &range)
    return LatencyRange(shortest: range.min, longest: range.max)
  }

  /// For an input port: how long ago what it carries came in at the beginning of its routes.
  static func capture(of port: OpaquePointer) -> LatencyRange {
    var range = jack_latency_range_t()
    jack_port_get_latency_range(port, JackCaptureLatency, &range)
    return LatencyRange(shortest: range.min, longest: range.max)
  }

  /// Over the physical outputs that are connected, or over all if none is.
  static func ofPhysicalOutputs(client: OpaquePointer) -> LatencyRange {
    let flags = UInt(JackPortIsPhysical.rawValue | JackPortIsInput.rawValue)
    let handles = portNames(jack_get_ports(client, nil, JACK_DEFAULT_AUDIO_TYPE, flags))
      .compactMap { jack_port_by_name(client, $0) }
    let used = handles.filter { portNames(jack_port_get_all_connections(client, $0)).isEmpty == false }
    let ranges = (used.isEmpty ? handles : used).map(LatencyRange.playback(of:))
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
