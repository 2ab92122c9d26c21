// SPDX-License-Identifier: GPL-2.0-or-later
import CJACK
import Glibc

/// Plays clicks into an output and records what comes back at an input: how long that takes, beside what JACK says.
///
/// A client of its own, for a few seconds. Position in the recording is position in what was played: both are in the
/// same cycle's buffers. [control]
public final class Loopback {
  public struct Ports: Equatable, Sendable {
    public var output: String
    public var input: String

    public init(output: String, input: String) {
      self.output = output
      self.input = input
    }
  }

  public enum Failure: Error, Equatable {
    case jack(JACKError)
    case noPort(String)
    case notConnected(String, String)
  }

  private let client: JACKClient
  private let tape: UnsafeMutablePointer<LoopbackTape>
  public let clicks: LoopbackClicks
  public let sampleRate: Int
  /// Frames that JACK knows of: playback and capture.
  public private(set) var told: (playback: Int, capture: Int) = (0, 0)

  public init(_ ports: Ports, server: String?, seconds: Int) throws(Failure) {
    do throws(JACKError) {
      client = try JACKClient(name: "tactus-check", server: server)
    } catch {
      throw .jack(error)
    }
    sampleRate = Int(jack_get_sample_rate(client.handle))
    clicks = LoopbackClicks(sampleRate: sampleRate)
    for port in [ports.output, ports.input] where jack_port_by_name(client.handle, port) == nil {
      throw .noPort(port)
    }
    guard
      let output = jack_port_register(
        client.handle, "out", JACK_DEFAULT_AUDIO_TYPE, UInt(JackPortIsOutput.rawValue), 0),
      let input = jack_port_register(
        client.handle, "in", JACK_DEFAULT_AUDIO_TYPE, UInt(JackPortIsInput.rawValue), 0)
    else { throw .jack(.portRefused("in and out")) }
    tape = .allocate(capacity: 1)
    tape.initialize(
      to: LoopbackTape(
        output: output, input: input, clicks: clicks, frames: seconds * sampleRate))
    jack_set_process_callback(client.handle, playAndRecord, tape)
    let code = jack_activate(client.handle)
    guard code == 0 else { throw .jack(.activationRefused(code: code)) }
    let ours = client.name
    for (from, to) in [("\(ours):out", ports.output), (ports.input, "\(ours):in")] {
      let result = jack_connect(client.handle, from, to)
      guard result == 0 || result == EEXIST else { throw .notConnected(from, to) }
    }
    var range = jack_latency_range_t()
    jack_port_get_latency_range(output, JackPlaybackLatency, &range)
    told.playback = Int(range.max)
    jack_port_get_latency_range(input, JackCaptureLatency, &range)
    told.capture = Int(range.max)
    tape.pointee.isPlaying.store(true, ordering: .releasing)
  }

  deinit {
    jack_deactivate(client.handle)
    tape.pointee.free()
    tape.deinitialize(count: 1)
    tape.deallocate()
  }

  public var isOver: Bool { tape.pointee.isOver.load(ordering: .acquiring) }

  /// For each click in how many frames it came back; call when it is over.
  public func returns() -> [LoopbackClicks.Return?] {
    guard isOver else { return [] }
    return clicks.returns(in: Array(tape.pointee.recording))
  }
}
