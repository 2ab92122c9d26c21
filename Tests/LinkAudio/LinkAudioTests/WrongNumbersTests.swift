// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAudioLanes
import LinkAudioPath
import Testing

/// Invalid values that a program may pass for its periods.
struct WrongNumbersTests {
  private static let bad: [Double] = [.nan, .infinity, -.infinity, 0, -1, 1e300, -1e300, 0x1p63]

  @Test(arguments: bad)
  func `impossible times of a period do not stop the audio thread`(value: Double) {
    let sent = SendLane(channels: 2)
    let played = ReceiveLane()
    sent.isWanted = true
    var left = [Float](repeating: 0.5, count: 256)
    for part in 0..<7 {
      var recording = Recording(
        frames: 256, sampleRate: 48_000, start: 0, frameMicros: 20.8, captureFrames: 0, offset: 0,
        grid: SessionGrid(session: 1, origin: 0, beatMicros: 500_000))
      switch part {
      case 0: recording.start = value
      case 1: recording.frameMicros = value
      case 2: recording.captureFrames = value
      case 3: recording.offset = value
      case 4: recording.grid.origin = value
      case 5: recording.grid.beatMicros = value
      default: recording.frames = -1
      }
      sent.audio.send(recording, left: left, right: nil)
      let hearing = OutputPeriod(
        frames: recording.frames, sampleRate: 48_000, start: recording.start,
        frameMicros: recording.frameMicros, latencyMicros: recording.offset, grid: recording.grid)
      played.audio.render(hearing, delay: .fixed(value), left: &left, right: nil)
      #expect(left.allSatisfy { abs($0) <= 1 })
    }
    var periods = 0
    sent.drain { period, samples in
      periods += 1
      #expect(period.frames == 256 && samples.count >= 512)
    }
    #expect(periods == 6)
  }
}
