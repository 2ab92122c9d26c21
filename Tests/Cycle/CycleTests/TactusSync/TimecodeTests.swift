// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusTestSupport
import Testing
import TimecodeReader

@testable import TactusSync

extension TimecodeRate {
  static let all: [TimecodeRate] = [.fps24, .fps25, .drop2997, .fps2997, .fps30]

  /// The rate as two whole numbers: `frames` timecode frames take `seconds` seconds.
  var ratio: (frames: Int, seconds: Int) {
    switch self {
    case .fps24: (24, 1)
    case .fps25: (25, 1)
    case .fps30: (30, 1)
    case .drop2997, .fps2997: (30_000, 1_001)
    }
  }
}

extension CountedTimecode {
  mutating func count(_ rate: TimecodeRate) {
    count(of: rate == .fps24 ? 24 : rate == .fps25 ? 25 : 30, drops: rate == .drop2997)
  }
}

extension Timecode {
  var counted: CountedTimecode {
    var counted = CountedTimecode()
    (counted.hours, counted.minutes, counted.seconds, counted.frames) =
      (Int(hours), Int(minutes), Int(seconds), Int(frames))
    return counted
  }
}

/// Timecode tells the transport's position as it is heard.
struct TimecodeTests {
  /// libltc's decoder for this rate.
  private static func reader(_ rate: TimecodeRate, sampleRate: Int = 48_000) -> LTCReader {
    let (frames, seconds) = rate.ratio
    return LTCReader(samplesPerFrame: sampleRate * seconds / frames)
  }

  static func output(_ kind: OutputKind, _ change: (inout TimecodeSettings) -> Void) -> OutputSlot {
    var settings = OutputSettings(kind)
    change(&settings.timecode!)
    return OutputSlot(number: 1, settings: settings, latency: 256)
  }

  static func studio(_ output: OutputSlot, sampleRate: UInt32 = 48_000) -> Studio {
    let studio = Studio(sampleRate: sampleRate, tempo: 120)
    studio.latencies[.jack] = 256
    studio.settings.click.isOn = false
    studio.rack = [output]
    return studio
  }

  @Test(arguments: campaign(TimecodeRate.all))
  func `each timecode frame of a day has a number, and each number a frame`(
    rate: TimecodeRate
  ) {
    var counted = CountedTimecode()
    for frame in 0..<rate.framesPerDay + 2000 {
      let code = Timecode(frame: frame, rate)
      guard code.counted == counted, code.frame(rate) == frame % rate.framesPerDay else {
        Issue.record("\(frame): \(code), not \(counted)")
        return
      }
      counted.count(rate)
    }
    #expect(Timecode(frame: -1, rate).hours == 23)
    // The frames of a day of drop-frame timecode last 86.4 ms longer than 24 hours.
    #expect(TimecodeRate.drop2997.framesPerDay == 2_589_408)
  }

  @Test func `a timecode that drop-frame leaves out means the next timecode`() {
    #expect(Timecode(minutes: 1).frame(.drop2997) == 1800)
    #expect(Timecode(minutes: 1, frames: 2).frame(.drop2997) == 1800)
    #expect(Timecode(minutes: 10).frame(.drop2997) == 17_982)
    #expect(Timecode(seconds: 1, frames: 29).frame(.fps24) == 47)
  }

  @Test(arguments: campaign(TimecodeRate.all))
  func `libltc reads ten minutes of our LTC, each frame at the right place`(rate: TimecodeRate) throws {
    let start = Timecode(hours: 23, minutes: 55, seconds: 3)
    let studio = Self.studio(
      Self.output(.ltc) {
        $0.rate = rate
        $0.start = start
      })
    let decoder = Self.reader(rate)
    studio.listensToRack = { decoder.read($0) }
    studio.play(seconds: 0.3)
    studio.transport = Transport(state: .rolling, frame: 0)
    let first = studio.frame
    // Changes of the tempo must not matter to timecode.
    for tempo in [120, 61.7, 300, 20, 140] as [Double] {
      studio.setTempo(tempo)
      studio.play(seconds: 121)
    }
    let frames = decoder.frames
    let (number, seconds) = rate.ratio
    #expect(frames.count > 600 * number / seconds)
    // The decoder learns the speed from the first frame, and reads from the second frame on.
    var counted = start.counted
    for (place, frame) in frames.enumerated() {
      counted.count(rate)
      guard frame.code == counted, frame.isDrop == (rate == .drop2997) else {
        Issue.record("frame \(place) is \(frame.code), not \(counted)")
        return
      }
      let exact = Double(place + 1) * 48_000 * Double(seconds) / Double(number)
      let off = Double(frame.start - first) - exact
      // The decoder is accurate to 3.5 samples: it reports the place at which it saw the frame's first
      // change.
      guard abs(off) <= 3.5 else {
        Issue.record("frame \(place) is \(off) samples off")
        return
      }
    }
  }

  @Test func `after a locate linear timecode goes on from the new place`() {
    let studio = Self.studio(Self.output(.ltc) { $0.rate = .fps30 })
    let decoder = Self.reader(.fps30)
    studio.listensToRack = { decoder.read($0) }
    studio.transport = Transport(state: .rolling, frame: 0)
    studio.play(seconds: 2)
    studio.transport.frame = 48_000 * 3_725
    let at = studio.frame
    studio.play(seconds: 2)
    let after = decoder.frames.filter { $0.start > at + 3_200 }
    #expect(after.count > 50)
    for frame in after {
      let exact = Double(frame.start - at) / 1_600 + 3_725 * 30
      #expect(abs(exact - exact.rounded()) * 1_600 < 3.5)
      #expect(frame.code == Timecode(frame: Int64(exact.rounded()), .fps30).counted)
    }
    studio.transport.state = .stopped
    studio.play(seconds: 0.1)
    let silent = studio.rackEdges[0].count
    studio.play(seconds: 1)
    #expect(studio.rackEdges[0].count == silent)
  }

  @Test func `timecode at a port is ahead by the port's latency and offset`() {
    var output = Self.output(.ltc) { _ in }
    output.latency = 1_256
    output.offset = Micros(10_000)
    let studio = Self.studio(output)
    let decoder = Self.reader(.fps25)
    studio.listensToRack = { decoder.read($0) }
    studio.transport = Transport(state: .rolling, frame: 0)
    studio.play(seconds: 3)
    #expect(decoder.frames.count > 60)
    for frame in decoder.frames {
      let exact = Double(frame.start + 1_000 + 480) / 1_920
      #expect(abs(exact - exact.rounded()) * 1_920 < 3.5)
      #expect(frame.code == Timecode(frame: Int64(exact.rounded()), .fps25).counted)
    }
  }

  @Test(arguments: [22_050, 44_100, 96_000, 192_000] as [UInt32])
  func `libltc reads our LTC at every sample rate`(sampleRate: UInt32) {
    let studio = Self.studio(Self.output(.ltc) { $0.rate = .fps30 }, sampleRate: sampleRate)
    let decoder = Self.reader(.fps30, sampleRate: Int(sampleRate))
    studio.listensToRack = { decoder.read($0) }
    studio.transport = Transport(state: .rolling, frame: 0)
    studio.play(seconds: 4)
    #expect(decoder.frames.count > 115)
    for (frame, next) in zip(decoder.frames, decoder.frames.dropFirst()) {
      var counted = frame.code
      counted.count(.fps30)
      #expect(next.code == counted)
    }
  }
}
