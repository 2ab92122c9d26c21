// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusTestSupport
import Testing
import TimecodeReader

@testable import TactusSync

/// A receiver of MIDI timecode, as the standard describes it. Eight quarter frame messages give a timecode,
/// which is two frames old when the last message has come. A full frame message gives a timecode at once.
struct MTCReceiver {
  struct Told {
    var code: CountedTimecode
    var rate: UInt8
    /// The time at which this timecode's first quarter frame message came, or its full frame message.
    var heard: Double
    var isFull: Bool
  }

  private(set) var told: [Told] = []
  /// The number of quarter frame messages that were out of order.
  private(set) var odd = 0
  private var pieces: [UInt8] = []
  private var began = 0.0

  init(_ messages: [Studio.Message]) {
    for message in messages {
      let bytes = (0..<Int(message.event.count)).map(message.event.byte)
      if bytes[0] == 0xF1 {
        quarter(bytes, at: message.heard)
      } else {
        #expect(bytes.count == 10 && bytes[0...4] == [0xF0, 0x7F, 0x7F, 0x01, 0x01] && bytes[9] == 0xF7)
        tell(hours: bytes[5], Int(bytes[6]), Int(bytes[7]), Int(bytes[8]), at: message.heard, isFull: true)
        pieces = []
      }
    }
  }

  private mutating func quarter(_ bytes: [UInt8], at time: Double) {
    #expect(bytes.count == 2 && bytes[1] < 0x80)
    let piece = Int(bytes[1] >> 4)
    if piece == 0 {
      if !pieces.isEmpty { odd += 1 }
      pieces = []
      began = time
    }
    guard piece == pieces.count else {
      odd += 1
      pieces = []
      return
    }
    pieces.append(bytes[1] & 0xF)
    guard piece == 7 else { return }
    func value(_ place: Int) -> UInt8 { pieces[place] | pieces[place + 1] << 4 }
    tell(hours: value(6), Int(value(4)), Int(value(2)), Int(value(0)), at: began, isFull: false)
    pieces = []
  }

  private mutating func tell(
    hours: UInt8, _ minutes: Int, _ seconds: Int, _ frames: Int, at time: Double, isFull: Bool
  ) {
    var code = CountedTimecode()
    (code.hours, code.minutes, code.seconds, code.frames) = (Int(hours & 0x1F), minutes, seconds, frames)
    told.append(Told(code: code, rate: hours >> 5, heard: time, isFull: isFull))
  }
}

struct MTCTests {
  @Test(arguments: campaign(TimecodeRate.all))
  func `ten minutes of MIDI timecode follow the transport past midnight`(
    rate: TimecodeRate
  ) throws {
    let start = Timecode(hours: 23, minutes: 55, seconds: 3)
    let studio = TimecodeTests.studio(
      TimecodeTests.output(.mtc) {
        $0.rate = rate
        $0.start = start
      })
    studio.play(seconds: 0.3)
    studio.transport = Transport(state: .rolling, frame: 0)
    for tempo in [120, 61.7, 300, 20, 140] as [Double] {
      studio.setTempo(tempo)
      studio.play(seconds: 121, frames: tempo == 300 ? 1_024 : 64)
    }
    let receiver = MTCReceiver(studio.rackMessages[0])
    let places = receiver.told.filter { !$0.isFull }
    let (number, seconds) = rate.ratio
    #expect(receiver.odd == 0 && places.count >= 600 * number / seconds / 2)
    // While the transport stood, its place was sent once, by a full frame message.
    #expect(receiver.told.filter(\.isFull).map(\.code) == [start.counted])
    #expect(receiver.told.allSatisfy { $0.rate == [0, 1, 2, 3, 3][Int(rate.rawValue)] })
    let origin = try #require(places.first)
    for (place, told) in places.enumerated() {
      let exact = Double(2 * place) * 1e6 * Double(seconds) / Double(number)
      #expect(abs(told.heard - origin.heard - exact) <= 21)
      // The received timecodes are those of every second frame of the day, beginning with the first even
      // frame.
      let frame = start.frame(rate) + start.frame(rate) % 2 + Int64(2 * place)
      #expect(told.code == Timecode(frame: frame, rate).counted)
    }
  }

  /// A MIDI port is heard before a sound card's output, so the port's buffers begin before the transport's
  /// frame 0.
  @Test(arguments: [0, 1024, 9600] as [UInt32])
  func `no MIDI timecode is sent before the transport's frame 0`(card: UInt32) {
    for (rate, start) in [(TimecodeRate.fps25, Timecode()), (.fps30, Timecode(hours: 1, frames: 3))] {
      let studio = TimecodeTests.studio(
        TimecodeTests.output(.mtc) {
          $0.rate = rate
          $0.start = start
        })
      studio.latencies = PerPort(repeating: card)
      studio.play(seconds: 0.3)
      studio.transport = Transport(state: .rolling, frame: 0)
      studio.play(seconds: 1, frames: 64)
      // After two locates within 20 ms, no second full frame message is sent while the transport starts.
      for _ in 0..<10 {
        studio.transport.frame = 48_000
        studio.play(64)
        studio.transport.frame = 0
        studio.play(seconds: 0.6, frames: 64)
      }
      let told = MTCReceiver(studio.rackMessages[0]).told
      #expect(told.count > 20)
      let first = start.frame(rate)
      let frames = told.map { one in
        let seconds = (one.code.hours * 60 + one.code.minutes) * 60 + one.code.seconds
        return Int64(seconds) * (rate == .fps25 ? 25 : 30) + Int64(one.code.frames)
      }
      #expect(frames.allSatisfy((first..<first + 60).contains), "\(frames)")
    }
  }

  @Test func `MIDI quarter frames come at each quarter of a timecode frame`() {
    let studio = TimecodeTests.studio(TimecodeTests.output(.mtc) { $0.rate = .fps30 })
    studio.transport = Transport(state: .rolling, frame: 0)
    studio.play(seconds: 5)
    let quarters = studio.rackMessages[0].filter { $0.event.status == 0xF1 }
    #expect(quarters.count >= 600)
    for (place, quarter) in quarters.enumerated() { #expect(quarter.frame == 400 * place) }
  }

  @Test func `a locate sends a full MIDI timecode at once, but not too often`() throws {
    let studio = TimecodeTests.studio(TimecodeTests.output(.mtc) { $0.rate = .fps25 })
    studio.play(seconds: 1)
    for place in 1...40 {
      studio.transport.frame = UInt32(place * 48_000)
      studio.play(256)
    }
    studio.play(seconds: 0.5)
    let standing = MTCReceiver(studio.rackMessages[0]).told
    #expect(standing.allSatisfy(\.isFull) && standing.last?.code.seconds == 40)
    // The 40 cycles last 213 ms, in which few full frame messages fit.
    #expect(standing.count <= 13)
    studio.transport.state = .rolling
    studio.play(seconds: 2)
    studio.transport.frame = 3_600 * 48_000
    let at = studio.due
    studio.play(seconds: 2)
    let receiver = MTCReceiver(studio.rackMessages[0])
    let located = receiver.told.dropFirst(standing.count)
    #expect(located.filter(\.isFull).map(\.code.hours) == [1])
    let full = try #require(located.first { $0.isFull })
    #expect(full.heard - at < 20_000)
    let after = located.filter { $0.heard >= full.heard && !$0.isFull }
    #expect(after.count == 25 && after.first?.code == Timecode(hours: 1).counted)
    // The locate may interrupt one timecode, of which only some quarter frame messages were sent.
    #expect(receiver.odd <= 1)
  }

  @Test(arguments: [0, 256, 3000] as [UInt32])
  func `a standing transport's MIDI timecode is sent once, for any latency`(latency: UInt32) {
    var output = TimecodeTests.output(.mtc) { $0.rate = .fps25 }
    output.latency = latency
    let studio = TimecodeTests.studio(output)
    studio.transport.frame = 1_920_000
    studio.play(seconds: 0.5)
    let standing = MTCReceiver(studio.rackMessages[0]).told
    #expect(standing.map(\.code) == [Timecode(seconds: 40).counted], "\(standing)")
    // If the port's latency is small, the transport's place has been sent before the transport rolls.
    guard latency < 1920 else { return }
    studio.transport.state = .rolling
    studio.play(seconds: 1)
    #expect(MTCReceiver(studio.rackMessages[0]).told.filter(\.isFull).count == 1)
  }

  @Test func `an export sends no MIDI timecode, a new latency loses none`() {
    let studio = TimecodeTests.studio(TimecodeTests.output(.mtc) { _ in })
    studio.transport = Transport(state: .rolling, frame: 0)
    studio.play(seconds: 2)
    studio.rack[0].latency = 456
    studio.play(seconds: 2)
    studio.rack[0].latency = 156
    studio.play(seconds: 2)
    let receiver = MTCReceiver(studio.rackMessages[0])
    #expect(receiver.odd == 0 && receiver.told.filter(\.isFull).count <= 1 && receiver.told.count >= 74)
    studio.isFreewheeling = true
    let before = studio.rackMessages[0].count
    studio.play(seconds: 1)
    #expect(studio.rackMessages[0].count == before)
  }
}
