// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import Testing

@testable import TactusSync

/// Messages (Start, Stop and Continue) that we sent and that come back to the port `control`.
struct SentCommandTests {
  private func isEcho(_ status: UInt8, _ moment: Double, _ studio: Studio) -> Bool {
    studio.sync.isEcho(status, at: Micros(rounding: moment))
  }

  private func located(ownClock: Bool) -> Studio {
    let studio = Studio(tempo: 120)
    if ownClock {
      studio.rack = [OutputSlot(number: 1, settings: OutputSettings(.clock))]
    } else {
      studio.settings.clock.isOn = true
    }
    studio.play(seconds: 1.3)
    studio.transport.state = .starting
    studio.play(256)
    studio.transport.state = .rolling
    studio.play(seconds: 2)
    studio.locate = 480_000
    studio.play(256)
    studio.transport.state = .rolling
    return studio
  }

  @Test(arguments: [true, false])
  func `our own Stop that comes back within a quarter second is an echo`(ownClock: Bool) throws {
    let studio = located(ownClock: ownClock)
    studio.play(seconds: 0.01)
    let sent = ownClock ? studio.rackMessages[0] : studio.messages
    let stop = try #require(sent.last { $0.event.status == MIDI.stop })
    let way: [(micros: Double, isEcho: Bool)] = [
      (-5_000, false), (0, true), (100, true), (21_333, true), (249_000, true), (251_000, false),
      (60_000_000, false),
    ]
    for (micros, isEcho) in way {
      #expect(self.isEcho(MIDI.stop, stop.heard + micros, studio) == isEcho, "\(micros)")
    }
  }

  @Test func `a received Stop is a user's command if we sent none shortly before`() {
    let studio = Studio(tempo: 120)
    studio.settings.clock.isOn = true
    studio.play(seconds: 1.3)
    #expect(!isEcho(MIDI.stop, studio.due, studio))
    studio.transport.state = .starting
    studio.play(256)
    studio.transport.state = .rolling
    // The start is off the grid, so Continue goes out within 150 ms.
    studio.play(seconds: 0.2)
    #expect(!isEcho(MIDI.stop, studio.due, studio))
    #expect(isEcho(MIDI.resume, studio.due, studio))
    #expect(!isEcho(MIDI.clock, studio.due, studio))
  }
}
