// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import Testing

@testable import TactusSync

/// JACK's limit for a start that we hold. If the limit is too short, JACK rolls without us.
struct LongestHoldTests {
  @Test(arguments: [20.0, 61, 120, 300], [1.0, 3.5, 4, 16])
  func `no start is held longer than the timeout that we set for JACK`(tempo: Double, quantum: Double) {
    for alignment in [Alignment.nearest, .exact] {
      for countIn in [0, 2] as [Int32] {
        for others in [0.0, 300_000, 1_700_000] {
          let studio = Studio(tempo: tempo)
          studio.asksBeforeRolling = true
          studio.othersTake = others
          studio.settings.quantum = quantum
          studio.settings.launch.alignment = alignment
          studio.settings.launch.countIn = countIn
          studio.play(seconds: 0.7, frames: 1024)
          // Other clients may turn out slower than we know, and in that case the start takes the next beat.
          let limit = studio.report.syncLimit(for: studio.settings, usual: .zero)
          let most = Double(limit?.count ?? 0)
          studio.transport.state = .starting
          var held = 0.0
          while !studio.report.song.isRolling, held < 70e6 {
            studio.play(1024)
            held += 1024 / 0.048
          }
          let name = "\(tempo), \(quantum), \(alignment), \(countIn), \(others)"
          #expect(held < most, "\(name): \(held / 1e6) s, \(most / 1e6)")
        }
      }
    }
  }

  @Test
  func `a start's longest hold covers a peer's time and a sequencer's clock`() {
    let studio = Studio()
    studio.play(seconds: 0.1)
    var settings = studio.settings
    settings.launch.moment = .now
    #expect(studio.report.longestHold(by: settings) == 0)
    settings.launch.countIn = 4
    #expect(studio.report.longestHold(by: settings) == 0)
    settings.lead = .midi
    #expect(studio.report.longestHold(by: settings) == 30e6)
    var report = studio.report
    report.notBefore = report.moment.heard.start + 7e6
    #expect(report.longestHold(by: Settings()) == 13e6)
  }

  @Test func `JACK's usual timeout for held starts stays if it is long enough`() {
    func limit(_ tempo: Double, _ quantum: Double = 4, countIn: Int32 = 0) -> Int64? {
      var report = Report(), choices = Settings()
      report.moment.beatMicros = 60e6 / tempo
      (choices.quantum, choices.launch.countIn) = (quantum, countIn)
      return report.syncLimit(for: choices, usual: Micros(10_000_000)).map { $0.count / 1_000_000 }
    }
    #expect(limit(120) == nil && limit(103) == nil && limit(300, 16) == 15 && limit(120, countIn: 1) == 15)
    #expect(limit(70) == 15 && limit(20) == 35 && limit(20, 256) == 35 && limit(20, 4, countIn: 4) == 65)
  }
}
