// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Testing

@Test func negativeBeatsFoldUpwards() {
  #expect(Beats(-0.1).phase(in: Beats(1)) == Beats(0.9))
}
