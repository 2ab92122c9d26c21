// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import ClickSounds
import ControlSurface

extension Configuration {
  /// The same with what was chosen since: what one would have to write to get here at once.
  func taking(_ state: SurfaceState) -> Configuration {
    var new = self
    new.isLinkEnabled = state.linkEnabled
    new.syncsStartStop = state.startStopSync
    new.tempo = (state.chosenTempo ?? state.tempo).clamped.shortest
    new.quantum = state.quantum
    new.meter = TimeSignature(beats: state.meter.beats, unit: state.meter.unit)
    new.lead = Lead(rawValue: "\(state.lead)") ?? lead
    new.launch = Launch(rawValue: "\(state.launch)") ?? launch
    new.alignment = Alignment(rawValue: "\(state.alignment)") ?? alignment
    new.stop = Launch(rawValue: "\(state.stopWhen)") ?? stop
    new.correction = Correction(rawValue: "\(state.correction)") ?? correction
    new.correctAbove = state.correctAboveMilliseconds
    new.click = !state.click.enabled ? .off : state.click.when == .always ? .always : .rolling
    new.sound = BuiltInSound.allCases.dropFirst(state.click.sound).first ?? sound
    new.pattern = state.click.pattern.letters
    new.subdivision = state.click.subdivision
    new.gain = Double(state.click.gain.description) ?? gain
    new.countsIn = state.click.countsIn
    new.clock = !state.clock.enabled ? .off : state.clock.whileStopped ? .always : .rolling
    new.pulse = state.pulse.enabled ? Pulse(rawValue: state.pulse.rate.word) ?? pulse : .off
    new.offsets = Offsets(
      click: state.offsetMilliseconds(.click1), click2: state.outputs[.click2].offsetMilliseconds,
      clock: state.offsetMilliseconds(.clock), pulse: state.offsetMilliseconds(.pulse),
      run: state.outputs[.run].offsetMilliseconds, transport: state.offsetMilliseconds(.jack))
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
