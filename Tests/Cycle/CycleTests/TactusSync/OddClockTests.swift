// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import TactusSync

/// MIDI clock messages as they come over a cable. Once the loop has settled, one odd message is among them.
private struct Cable {
  enum Oddity: Sendable, CustomTestStringConvertible {
    case nothing
    /// The sender pauses for this share of the time between two messages, and goes on as before; negative:
    /// the sender skips that share.
    case pause(Double)
    case lost(Int)
    /// A surplus message comes after this share of the time between two messages.
    case doubled(Double)
    /// A single message is late.
    case late(Double)

    var testDescription: String { "\(self)" }
  }

  var tempo: Double
  /// The longest random delay of a message, in microseconds. `usbFrame` is the length of a USB frame, at
  /// whose end a message is handed over.
  var jitter = 0.0
  var usbFrame = 0.0
  var dice: Dice
  var loop = ClockLoop()
  /// The time of the next message. `sent` is the number of earlier messages.
  var time: Double
  var sent = 0

  init(tempo: Double, jitter: Double, usbFrame: Double, seed: Int) {
    self.tempo = tempo
    self.jitter = jitter
    self.usbFrame = usbFrame
    dice = Dice(seed: UInt64(seed))
    time = 1e9 + Double.random(in: 0..<20_000, using: &dice)
    loop.start()
  }

  var period: Double { 2.5e6 / tempo }

  /// The number of messages by which the loop's count differs from the number of messages that were sent.
  var lostCount: Double { loop.beat(at: time + jitter / 2 + usbFrame / 2) * 24 - Double(sent) }

  private mutating func send(_ late: Double = 0) {
    var due = time + late + Double.random(in: 0..<1, using: &dice) * jitter
    if usbFrame > 0 { due = (due / usbFrame).rounded(.up) * usbFrame }
    // JACK hands messages over at whole frames of 48 kHz.
    loop.clock(at: (due * 0.048).rounded(.up) / 0.048)
  }

  private mutating func next() {
    sent += 1
    time += period
  }

  /// Runs the cable, and returns the largest error of the loop's tempo in this time, in BPM.
  @discardableResult
  mutating func run(seconds: Double) -> Double {
    var worst = 0.0
    for _ in 0..<Int(seconds * 1e6 / period) {
      send()
      next()
      worst = max(worst, abs(loop.beatsPerMinute - tempo))
    }
    return worst
  }

  mutating func play(_ oddity: Oddity) {
    switch oddity {
    case .nothing: return
    case .pause(let share):
      time += share * period
      return
    case .lost(let count):
      for _ in 0..<count { next() }
      return
    case .doubled(let share): send((share - 1) * period)
    case .late(let share):
      send(share * period)
      next()
      return
    }
  }
}

@Suite struct OddClockTests {
  private static let cables: [(jitter: Double, usbFrame: Double)] = [
    (0, 0), (300, 0), (1000, 0), (500, 1000),
  ]

  @Test(arguments: [
    Cable.Oddity.pause(0.1), .pause(0.3), .pause(0.5), .pause(-0.3), .pause(-0.5), .lost(1), .lost(3),
    .lost(5),
    .doubled(0.1), .doubled(0.5), .doubled(0.9), .late(0.3), .late(0.5), .late(0.9), .nothing,
  ])
  fileprivate func `an odd MIDI clock message hardly moves the tempo and loses no beat`(
    oddity: Cable.Oddity
  ) {
    for tempo in [60, 97.3, 120, 174] {
      for (jitter, usbFrame) in Self.cables {
        for seed in 1...6 {
          var cable = Cable(tempo: tempo, jitter: jitter, usbFrame: usbFrame, seed: seed)
          cable.run(seconds: 10 + Double(seed) * 0.03)
          cable.play(oddity)
          let worst = cable.run(seconds: 4)
          let note: Comment = "\(tempo) BPM, jitter \(jitter) and \(usbFrame) us, seed \(seed)"
          // The bound, in BPM, is one and a half times the hysteresis of `ClockIn`.
          #expect(worst <= 0.12, note)
          #expect(abs(cable.lostCount) < 0.1, note)
          #expect(cable.loop.state == .locked, note)
        }
      }
    }
  }

  @Test(arguments: [
    (120.0, 121.0), (120, 122), (120, 125), (120, 130), (120, 134), (134, 120), (120, 150), (60, 120),
    (120, 60),
    (60, 63), (63, 60), (60, 66), (100, 33), (174, 180), (90, 135),
  ])
  func `a MIDI clock's new tempo is followed within a second, in phase`(from: Double, to: Double) {
    for jitter in [0.0, 100, 300] {
      for seed in 1...6 {
        var cable = Cable(tempo: from, jitter: jitter, usbFrame: 0, seed: seed)
        cable.run(seconds: 10 + Double(seed) * 0.03)
        cable.tempo = to
        cable.run(seconds: 1)
        let note: Comment = "jitter \(jitter) us, seed \(seed)"
        #expect(abs(cable.loop.beatsPerMinute - to) < 0.4, note)
        cable.run(seconds: 5)
        #expect(abs(cable.loop.beatsPerMinute - to) < 0.05, note)
        #expect(abs(cable.lostCount) < 0.05, note)
      }
    }
  }
}
