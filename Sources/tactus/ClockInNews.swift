// SPDX-License-Identifier: GPL-2.0-or-later
import ControlSurface

/// What a musician should know of the sequencer whose MIDI clock leads.
struct ClockInNews {
  private enum Told {
    case nothing, locked, lost, echo
  }

  private var told = Told.nothing

  /// nil: nothing new.
  mutating func line(for state: SurfaceState) -> String? {
    switch (state.midiClock, told) {
    case (.off, _), (.silent, _):
      told = .nothing
      return nil
    case (.locked(let tempo), .nothing), (.locked(let tempo), .lost), (.locked(let tempo), .echo):
      told = .locked
      return "MIDI clock leads: \(tempo.beatsPerMinute) BPM"
    case (.lost, .nothing), (.lost, .locked), (.lost, .echo):
      told = .lost
      return "MIDI clock lost; its tempo stays"
    case (.echo, .nothing), (.echo, .locked), (.echo, .lost):
      told = .echo
      return "the MIDI clock that leads is our own, which comes back: disconnect one way"
    case (.acquiring, _), (.locked, .locked), (.lost, .lost), (.echo, .echo): return nil
    }
  }
}
