// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAudioLanes
import LinkAudioPath
import LinkBeatMath
import TactusChoices
import Testing

@testable import TactusJACK
@testable import TactusSync

/// The ports of a received channel. Their buffers hold the last cycle's audio at the beginning, because the
/// server does not clear them.
struct ReceivedPortsTests {
  private static let frames = 64

  private static let now = CycleStamp(
    frames: UInt32(frames), heard: FrameLine(start: 1e6, frameMicros: 1e6 / 48_000), due: 1e6, session: 1)

  private func heard(_ ports: ReceivedPorts, isFreewheeling: Bool) -> [Float] {
    let frames = Self.frames
    let session = SessionState(
      timeline: Timeline(tempo: Tempo(120), beatOrigin: .zero, timeOrigin: .zero),
      startStop: ClientStartStop(isPlaying: false, time: .zero, timestamp: .zero), isConnected: false)
    var cycle = Cycle(
      frames: UInt32(frames), sampleRate: 48_000,
      times: RawTimes(frame: 0, wakeMicros: 0, isPairValid: false, currentMicros: 0, nextMicros: 0),
      transport: Transport(state: .stopped, frame: 0), latencies: PerPort(repeating: 0), clock: .identity,
      session: SessionView(session, startStopsTaken: 0), settings: Settings(), settingsNumber: 0,
      sounds: SoundBank(),
      isFreewheeling: isFreewheeling)
    var left = [Float](repeating: 0.5, count: frames)
    var right = left
    left.withUnsafeMutableBufferPointer { left in
      right.withUnsafeMutableBufferPointer { right in
        ports.fill(left.baseAddress!, right.baseAddress!, &cycle, Self.now)
      }
    }
    return left + right
  }

  @Test(arguments: [false, true])
  func `the ports of an absent or silent Link Audio channel play silence`(
    isFreewheeling: Bool
  ) {
    #expect(heard(ReceivedPorts(), isFreewheeling: isFreewheeling).allSatisfy { $0 == 0 })
    let lane = ReceiveLane()
    var ports = ReceivedPorts()
    ports.end = lane.audio
    #expect(heard(ports, isFreewheeling: isFreewheeling).allSatisfy { $0 == 0 })
    withExtendedLifetime(lane) {}
  }

  @Test func `a received channel's delay in bars may be a fraction of beats`() {
    func delay(_ bars: Int32, _ meter: Meter) -> PlayoutDelay { PlayoutDelay(.bars(bars), meter, Self.now) }
    let seven = Meter(beatsPerBar: 7, beatType: 8)
    guard case .beats(8) = delay(2, Meter()), case .beats(7) = delay(2, seven),
      case .fixed(1_750_000) = delay(1, seven)
    else {
      Issue.record("\(delay(2, Meter())), \(delay(2, seven)), \(delay(1, seven))")
      return
    }
  }
}
