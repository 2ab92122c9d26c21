// SPDX-License-Identifier: GPL-2.0-or-later
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
