// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import TactusApp

@Suite("PipeWire's libjack")
struct PipeWireLibraryTests {
  private func choice(
    named: Bool = false, answers: Bool = true, installed: Bool = true, loaded: Bool = false,
    marked: Bool = false
  ) -> PipeWireLibrary.Choice {
    PipeWireLibrary.choice(
      isNamed: named, pipeWireAnswers: answers, isInstalled: installed, isLoaded: loaded, isMarked: marked)
  }

  @Test
  func `PipeWire's libjack is used if PipeWire answers`() {
    #expect(choice() == .pipeWire)
    #expect(choice(answers: false) == .stay)
    #expect(choice(installed: false) == .stay)
    #expect(choice(named: true) == .stay)
  }

  @Test
  func `when PipeWire is gone, tactus uses the system's libjack`() {
    #expect(choice(loaded: true, marked: true) == .stay)
    #expect(choice(answers: false, loaded: true, marked: true) == .system)
    // A library that pw-jack has chosen stays.
    #expect(choice(answers: false, loaded: true) == .stay)
  }

  /// While PipeWire's state stays the same, tactus restarts itself at most once to use another libjack.
  @Test
  func `restarts to change the JACK library come to an end`() {
    for answers in [false, true] {
      for works in [false, true] {
        var (loaded, marked, starts) = (false, false, 0)
        while starts < 5 {
          switch choice(answers: answers, loaded: loaded, marked: marked) {
          case .stay:
            #expect(starts <= 1)
            starts = 5
          case .pipeWire: (loaded, marked, starts) = (works, true, starts + 1)
          case .system: (loaded, marked, starts) = (false, false, starts + 1)
          }
        }
      }
    }
  }
}
