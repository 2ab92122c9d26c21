// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import Testing

@testable import TactusSync

/// Two programs in one session that syncs starts and stops. A user starts the first program, and the second
/// program follows the session.
struct TwoStartsTests {
  /// The change of the first program's start while both programs wait.
  enum Change: CaseIterable {
    case none, countIn, farBar, noCountIn, nearBar
  }

  private func studio(_ wait: LaunchWait = .starting) -> Studio {
    let studio = Studio(tempo: 120)
    studio.settings.syncsStartStop = true
    studio.settings.launch.wait = wait
    studio.asksBeforeRolling = true
    studio.plan.choices = studio.settings
    return studio
  }

  @Test(arguments: Change.allCases, [LaunchWait.starting, .stopped])
  func `two programs start on one bar though the first delays its start`(change: Change, wait: LaunchWait) {
    let (first, second) = (studio(), studio(wait))
    if case .noCountIn = change { first.settings.launch.countIn = 2 }
    if case .nearBar = change { first.settings.quantum = 16 }
    var obeyed: UInt32 = 0
    func play(seconds: Double) {
      for _ in 0..<Int(seconds * 187.5) {
        first.play(256)
        (second.isPlaying, second.timeOfPlaying) = (first.isPlaying, first.timeOfPlaying)
        second.play(256)
        let command = second.report.startStop
        if command.number != obeyed, command.starts { second.pressPlay() }
        obeyed = command.number
      }
    }
    play(seconds: 0.7)
    first.pressPlay()
    play(seconds: 0.4)
    switch change {
    case .none: break
    case .countIn: first.settings.launch.countIn = 2
    case .noCountIn: first.settings.launch.countIn = 0
    case .farBar: first.settings.quantum = 16
    case .nearBar: first.settings.quantum = 4
    }
    play(seconds: 16)
    #expect(first.report.song.isRolling && second.report.song.isRolling)
    let beats = [first, second].map { $0.report.sessionBeat - $0.report.song.beat }
    #expect(abs(beats[0] - beats[1]) < 1e-6, "\(beats)")
    #expect(second.told.isEmpty)
  }

  /// The peer's start moves to an earlier bar, to a later bar, and back again.
  @Test(arguments: [LaunchWait.starting, .stopped])
  func `a start moves with the peer's start time as often as that changes`(wait: LaunchWait) {
    for bars in [[6, 4], [2, 5], [3, 8, 4], [4, 5, 6, 7]] as [[Double]] {
      let studio = studio(wait)
      studio.play(seconds: 0.7)
      for bar in bars {
        studio.isPlaying = true
        studio.timeOfPlaying = Micros(rounding: Grid(studio.timeline).time(of: bar * 4))
        studio.play(seconds: 0.1)
        if studio.report.startStop.starts, !studio.report.launch.isHolding, studio.plan.startBeat == nil {
          studio.pressPlay()
        }
        studio.play(seconds: 0.1)
      }
      studio.play(seconds: 16)
      #expect(studio.report.song.isRolling && studio.told.isEmpty)
      #expect(studio.report.sessionBeat - studio.report.song.beat == (bars.last ?? 0) * 4, "\(bars)")
    }
  }

  @Test func `a peer's start that is taken back after half a minute does not roll`() {
    let studio = studio(.stopped)
    studio.play(seconds: 0.7)
    studio.isPlaying = true
    studio.timeOfPlaying = Micros(rounding: studio.due + 60e6)
    studio.play(seconds: 0.1)
    #expect(studio.report.startStop.starts)
    let number = studio.report.startStop.number
    studio.pressPlay()
    studio.play(seconds: 45)
    #expect(!studio.report.isMoving)
    studio.isPlaying = false
    studio.play(seconds: 0.1)
    #expect(!studio.report.startStop.starts && studio.report.startStop.number == number &+ 1)
    #expect(studio.told.isEmpty)
  }
}
