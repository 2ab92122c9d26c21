// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices
import Testing

@testable import HostSync

/// Two programs in one session that syncs starts and stops: the first is started by hand, the second follows the session.
struct TwoStartsTests {
  private func studio(_ wait: LaunchWait = .starting) -> Studio {
    let studio = Studio(tempo: 120)
    studio.settings.syncsStartStop = true
    studio.settings.launch.wait = wait
    studio.asksBeforeRolling = true
    studio.relocator.choices = studio.settings
    return studio
  }

  @Test func `a peer that takes back its start after half a minute is obeyed`() {
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
