// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkBeatMath
import TactusChoices
import TactusTestSupport
import Testing

@testable import TactusSync

/// Pulse edges that lie between two frames. They are measured in the signal that a converter makes of the
/// samples.
struct FinePulseTests {
  /// The samples of a pulse at this tempo, and the place of each beat in them, in frames.
  private func played(
    tempo: Double, frames: UInt32, _ change: (inout GateSettings) -> Void
  ) -> (samples: [Float], beats: [Double]) {
    let studio = Studio(tempo: tempo)
    studio.settings.click.isOn = false
    var settings = OutputSettings(.pulse)
    settings.gate?.isFine = true
    settings.gate?.width = Micros(3_000)
    change(&settings.gate!)
    studio.rack = [OutputSlot(number: 1, settings: settings)]
    var samples: [Float] = []
    studio.listensToRack = { samples += $0 }
    studio.play(256)
    let origin = studio.due
    studio.play(seconds: 20, frames: frames)
    let grid = Grid(studio.timeline)
    let beats = (1..<Int(20 * tempo / 60)).map { beat in
      (grid.time(of: Double(beat)) - origin) / studio.microsPerFrame
    }
    return (samples, beats)
  }

  /// The time near `place` at which the signal behind an ideal converter (a windowed sinc over 64 frames)
  /// rises through `level`.
  private func crossing(_ samples: [Float], near place: Double, level: Double = 0.5) -> Double {
    func value(_ time: Double) -> Double {
      let middle = Int(time.rounded())
      return (max(0, middle - 32)...min(samples.count - 1, middle + 32)).reduce(0) { sum, frame in
        let away = time - Double(frame)
        let sinc = away == 0 ? 1 : sin(.pi * away) / (.pi * away)
        return sum + Double(samples[frame]) * sinc * pow(cos(.pi * away / 66), 2)
      }
    }
    var (low, high) = (place - 1, place + 1)
    for _ in 0..<40 {
      let middle = (low + high) / 2
      if value(middle) < level { low = middle } else { high = middle }
    }
    return (low + high) / 2
  }

  /// The number of frames by which an edge is late. The slope of the samples is correlated with the slope of
  /// a smooth step (a bell of three frames).
  private func lag(_ samples: [Float], at place: Double) -> Double {
    func likeness(_ shift: Double) -> Double {
      let center = place + shift
      let frames = Int(center) - 15...Int(center) + 15
      return frames.reduce(0) { sum, frame in
        let away = (Double(frame) - 0.5 - center) / 3
        return sum + Double(samples[frame] - samples[frame - 1]) * exp(-away * away / 2)
      }
    }
    var (low, high) = (-2.0, 2.0)
    for _ in 0..<60 {
      let (a, b) = (low + (high - low) / 3, high - (high - low) / 3)
      if likeness(a) < likeness(b) { low = a } else { high = b }
    }
    return (low + high) / 2
  }

  @Test(arguments: campaign([61.7, 120, 187.3, 240.1]), campaign([64, 256, 1_024] as [UInt32]))
  func `a fine pulse edge is within two microseconds of the beat`(tempo: Double, frames: UInt32) {
    let (samples, beats) = played(tempo: tempo, frames: frames) { _ in }
    for place in beats where Int(place) + 300 < samples.count {
      let crossed = (crossing(samples, near: place) - place) / 48_000 * 1e6
      let correlated = lag(samples, at: place) / 48_000 * 1e6
      #expect(abs(crossed) <= 2 && abs(correlated) <= 2, "\(crossed) and \(correlated) us")
    }
  }

  @Test func `a pulse edge rounded to a frame is less exact than a fine edge`() {
    let (samples, beats) = played(tempo: 187.3, frames: 256) { $0.isFine = false }
    let errors = beats.filter { Int($0) + 300 < samples.count }.map {
      abs(lag(samples, at: $0)) / 48_000 * 1e6
    }
    #expect((errors.max() ?? 0) > 8)
  }

  @Test func `a fine pulse has its width, also inverted and across buffers`() {
    for width in [1_000, 1_013, 5_007] as [Int64] {
      for isInverted in [false, true] {
        for frames in [16, 64, 333] as [UInt32] {
          let (samples, beats) = played(tempo: 187.3, frames: frames) {
            $0.width = Micros(width)
            $0.isInverted = isInverted
            $0.level = 0.8
          }
          let rest: Float = isInverted ? 0.8 : 0
          for place in beats where Int(place) + 400 < samples.count {
            let area = samples[Int(place) - 4..<Int(place) + 400].reduce(0.0) { $0 + abs(Double($1 - rest)) }
            #expect(abs(area / 0.8 - Double(width) * 0.048) < 1e-3)
          }
        }
      }
    }
  }
}
