// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import ControlSurface

extension Configuration {
  /// The same with what was chosen since: what one would have to write to get here at once.
  func taking(_ state: SurfaceState) -> Configuration {
    var new = self
    new.choices = state.choices
    new.tempo = (state.chosenTempo ?? state.tempo).clamped.shortest
    new.learned = state.learned
    return new
  }
}

extension Tempo {
  /// The shortest decimal that acts the same: what comes from a peer is 60e6/540541 for somebody's 111.
  var shortest: Double {
    var scale = 1.0
    while scale <= 1e6 {
      let rounded = (beatsPerMinute * scale).rounded() / scale
      if Tempo(rounded).microsPerBeat == microsPerBeat { return Tempo(rounded).clamped.beatsPerMinute }
      scale *= 10
    }
    return beatsPerMinute
  }
}
