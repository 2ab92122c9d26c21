// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK

/// Reads the latencies of ports. Latencies that other clients report enter tactus only here. [control]
final class LatencyReader {
  let client: OpaquePointer
  private let shared: UnsafePointer<SharedState>
  private let implementation: JACKImplementation
  private var doubts = LatencyDoubts()

  init(client: OpaquePointer, shared: UnsafePointer<SharedState>, implementation: JACKImplementation) {
    self.client = client
    self.shared = shared
    self.implementation = implementation
  }

  /// With `JackPlaybackLatency`: the frames from this port to the end of its longest route. With
  /// `JackCaptureLatency`: the frames from the beginning of the longest route to this port.
  func frames(of port: OpaquePointer?, _ mode: JackLatencyCallbackMode) -> UInt32 {
    guard let port else { return 0 }
    var range = jack_latency_range_t()
    jack_port_get_latency_range(port, mode, &range)
    let before = doubts.count
    let frames = doubts.believed(range.max, of: port, sampleRate: jack_get_sample_rate(client))
    if doubts.count != before { shared.pointee.board.countRefusedLatency() }
    return frames
  }

  /// The latency of a user's output, including the period that a MIDI bridge adds without reporting it.
  func toEar(_ port: OpaquePointer, isMIDI: Bool) -> UInt32 {
    let known = frames(of: port, JackPlaybackLatency)
    return isMIDI ? known + unreportedMIDI(port, known: known) : known
  }

  /// The period by which jack2's ALSA bridges delay MIDI without reporting it, in frames; 0 for other ports
  /// (facts: jack 9).
  func unreportedMIDI(_ port: OpaquePointer?, known: UInt32) -> UInt32 {
    guard known == 0 else { return 0 }
    let others = portNames(jack_port_get_all_connections(client, port))
    let bridged = others.contains(where: implementation.isSilentlyLateMIDI(port:))
    return bridged ? jack_get_buffer_size(client) : 0
  }
}

/// Counts impossible latencies. Each port counts once, until it has reported a believable latency again.
struct LatencyDoubts {
  /// The greatest number of ports with an impossible latency that are remembered. Further ports are not
  /// counted.
  static let limit = 4_096

  private(set) var count = 0
  private var wild: Set<OpaquePointer> = []

  mutating func believed(_ frames: UInt32, of port: OpaquePointer, sampleRate: UInt32) -> UInt32 {
    let believed = PortLatencies.plausible(frames, sampleRate: sampleRate)
    if believed == frames {
      wild.remove(port)
    } else if wild.count < Self.limit, wild.insert(port).inserted {
      count += 1
    }
    return believed
  }
}
