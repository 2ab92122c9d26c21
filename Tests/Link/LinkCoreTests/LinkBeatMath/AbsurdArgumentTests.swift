// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import Testing

/// Absurd numbers as every argument of a session state: nothing traps, and no edit reaches the peers.
struct AbsurdArgumentTests {
  static let doubles: [Double] = [
    .nan, .signalingNaN, .infinity, -.infinity, .greatestFiniteMagnitude, -.greatestFiniteMagnitude, 1e300,
    -1e19, 0x1p63, 1e13,
    -6e9, .leastNonzeroMagnitude, -0.0, 0, 4,
  ]
  static let times = [Int64.min, .min + 1, -1 << 62, -30_000_000_000_000_000, 1 << 62, .max - 1, .max].map {
    Micros($0)
  }
  static let now = Micros(86_400_000_000)

  func state(isConnected: Bool) -> SessionState {
    SessionState(
      timeline: Timeline(
        tempo: Tempo(120), beatOrigin: Beats(17), timeOrigin: Self.now - Micros(3_600_000_000)),
      startStop: ClientStartStop(isPlaying: true, time: Self.now - Micros(5_000_000), timestamp: Self.now),
      isConnected: isConnected)
  }

  /// Whether a commit of the edited state would change nothing.
  func changesNothing(_ edit: (inout SessionState) -> Void) -> Bool {
    [false, true].allSatisfy { isConnected in
      var state = state(isConnected: isConnected)
      edit(&state)
      return state == self.state(isConnected: isConnected) && state.change(at: Self.now) == nil
    }
  }

  @Test func `a tempo or beat that is not a number changes nothing`() {
    #expect(changesNothing { $0.setTempo(.nan, at: Self.now) })
    for beat in Self.doubles where !(beat.magnitude <= 5e9) {
      for quantum in Self.doubles {
        #expect(changesNothing { $0.requestBeat(beat, at: Self.now, quantum: quantum) })
        #expect(changesNothing { $0.forceBeat(beat, at: Self.now, quantum: quantum) })
        #expect(changesNothing { $0.requestBeatAtStart(beat, quantum: quantum) })
      }
    }
    var broken = state(isConnected: true)
    broken.timeline.tempo = Tempo(.nan)
    #expect(broken.change(at: Self.now) == nil)
  }

  @Test(arguments: times) func `an edit at a time that is centuries away changes nothing`(time: Micros) {
    #expect(changesNothing { $0.setTempo(130, at: time) })
    #expect(changesNothing { $0.setPlaying(false, at: time) })
    for quantum in Self.doubles {
      #expect(changesNothing { $0.requestBeat(3, at: time, quantum: quantum) })
      #expect(changesNothing { $0.forceBeat(3, at: time, quantum: quantum) })
      #expect(changesNothing { $0.setPlaying(true, at: time, requestingBeat: 3, quantum: quantum) })
    }
  }

  @Test(arguments: doubles) func `an absurd quantum leaves a working state`(quantum: Double) {
    for isConnected in [false, true] {
      var edited = state(isConnected: isConnected)
      edited.requestBeat(3, at: Self.now, quantum: quantum)
      edited.forceBeat(5, at: Self.now, quantum: quantum)
      edited.setTempo(90, at: Self.now)
      let passed =
        edited.beat(at: Self.now + Micros(20_000_000), quantum: 0) - edited.beat(at: Self.now, quantum: 0)
      #expect(abs(passed - 30) < 0.001)
    }
  }

  @Test func `every query of a session state gives an answer for absurd arguments`() {
    let state = state(isConnected: true)
    for quantum in Self.doubles {
      for time in Self.times + [Self.now] {
        _ = state.beat(at: time, quantum: quantum)
        _ = state.phase(at: time, quantum: quantum)
      }
      for beat in Self.doubles { _ = state.time(atBeat: beat, quantum: quantum) }
    }
  }
}
