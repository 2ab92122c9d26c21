// SPDX-License-Identifier: GPL-2.0-or-later
import CJACK
import HostSync

extension jack_position_t {
  mutating func set(_ bbt: BBT) {
    bar = bbt.bar
    beat = bbt.beat
    tick = bbt.tick
    bar_start_tick = bbt.barStartTick
    beats_per_bar = bbt.beatsPerBar
    beat_type = bbt.beatType
    ticks_per_beat = bbt.ticksPerBeat
    beats_per_minute = bbt.beatsPerMinute
  }
}

extension Transport {
  init(state: jack_transport_state_t, position: jack_position_t, bbtAge: UInt32 = 0) {
    let known: State =
      switch state {
      case JackTransportStopped: .stopped
      case JackTransportRolling, JackTransportLooping: .rolling
      default: .starting  // Starting, and jack2's "net starting"
      }
    var bbt: BBT?
    if position.valid.rawValue & JackPositionBBT.rawValue != 0 {
      bbt = BBT(
        bar: position.bar, beat: position.beat, tick: position.tick, barStartTick: position.bar_start_tick,
        beatsPerBar: position.beats_per_bar, beatType: position.beat_type,
        ticksPerBeat: position.ticks_per_beat, beatsPerMinute: position.beats_per_minute)
    }
    self.init(state: known, frame: position.frame, bbt: bbt, bbtAge: bbtAge)
  }
}
