// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import HostSync

extension Configuration {
  /// What the user chose, as the audio cycle wants it.
  var settings: Settings {
    var settings = Settings()
    settings.meter = Meter(beatsPerBar: Int32(meter.beats), beatType: Int32(meter.unit))
    settings.quantum = quantum
    settings.click.mode =
      switch click {
      case .off: .off
      case .rolling: .whileRolling
      case .always: .always
      }
    settings.click.gain = Float(gain)
    settings.click.subdivision = Int32(subdivision)
    settings.click.pattern = Pattern(pattern.utf8) ?? Pattern()
    settings.click.countsIn = countsIn
    settings.clock.isOn = clock != .off
    settings.clock.runsWhileStopped = clock == .always
    settings.pulse.rate =
      switch pulse {
      case .off: .off
      case .bar: .perBar
      case .one: .perBeat(1)
      case .two: .perBeat(2)
      case .four: .perBeat(4)
      case .twentyFour: .perBeat(24)
      case .fortyEight: .perBeat(48)
      }
    settings.offsets.click1 = micros(offsets.click)
    settings.offsets.click2 = micros(offsets.click)
    settings.offsets.clock = micros(offsets.clock)
    settings.offsets.pulse = micros(offsets.pulse)
    settings.offsets.run = micros(offsets.pulse)
    settings.offsets.transport = micros(offsets.transport)
    settings.launch.mode =
      switch launch {
      case .bar: .bar
      case .beat: .beat
      case .now: .now
      }
    settings.lead =
      switch lead {
      case .link: .link
      case .host: .host
      case .auto: .automatic
      }
    settings.hostIsTheClock = hostIsTheClock
    settings.syncsStartStop = syncsStartStop
    return settings
  }

  private func micros(_ milliseconds: Double) -> Micros { Micros(rounding: milliseconds * 1000) }
}
