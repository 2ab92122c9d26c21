// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusSync

// An hour of audio cycles with everything on and everything changing, for RealtimeSanitizer: the code of
// fuzz/cycles.swift and channel.swift between enter and leave must not allocate, lock or make a system call.

@_silgen_name("__rtsan_ensure_initialized") func rtsanInitialise()
@_silgen_name("__rtsan_realtime_enter") func rtsanEnter()
@_silgen_name("__rtsan_realtime_exit") func rtsanExit()

#if PLANT_ALLOCATION
  final class Sin {}
  nonisolated(unsafe) var sin: Sin?
#elseif PLANT_LOCK
  import Glibc
  nonisolated(unsafe) var mutex = pthread_mutex_t()
#endif

@inline(never) func plant() {
  #if PLANT_ALLOCATION
    sin = Sin()
  #elseif PLANT_LOCK
    pthread_mutex_lock(&mutex)
    pthread_mutex_unlock(&mutex)
  #endif
}

nonisolated(unsafe) var random: UInt64 = 0x1234_5678_9ABC_DEF1

func draw(_ limit: UInt64) -> UInt64 {
  random ^= random << 13
  random ^= random >> 7
  random ^= random << 17
  return random % limit
}

/// Draws a random byte that mostly causes no event (`Bytes.chance`), so that a song lasts for some bars.
func byte() -> UInt8 {
  draw(40) == 0 ? UInt8(draw(256)) : [1, 2, 7, 13, 14, 22, 26, 49][Int(draw(8))]
}

func playing<Result>(_ body: (inout Bytes) -> Result) -> Result {
  (0..<64).map { _ in byte() }.withUnsafeBytes {
    var input = Bytes($0)
    return body(&input)
  }
}

/// The disturbances of one cycle.
func disturb(_ stage: Stage) {
  switch draw(200) {
  case 0: stage.session.setTempo(Double(20 + draw(979)), at: stage.moment)
  case 1:
    stage.session.timeline.timeOrigin = stage.session.timeline.timeOrigin + Micros(Int64(draw(4_000)) - 2_000)
  case 2: stage.session.forceBeat(Double(draw(100)), at: stage.moment, quantum: 4)
  case 3: stage.settings.click.subdivision = Int32(1 + draw(8))
  case 4: stage.settings.meter.beatsPerBar = Int32(1 + draw(13))
  case 5:
    stage.sounds.number &+= 1
    stage.settings.records.toggle()
    stage.settings.launch.alignment = draw(2) == 0 ? .nearest : .exact
  case 6: stage.transport.state = .starting
  case 7: stage.transport.state = .rolling
  case 8: stage.transport.state = .stopped
  case 9: stage.transport.frame = UInt32(draw(10_000_000))
  default: break
  }
}

@main struct Play {
  static func main() {
    rtsanInitialise()
    let samples = UnsafeMutableBufferPointer<Float>.allocate(capacity: 2_400)
    samples.initialize(repeating: 0.5)
    let sound = Sound(UnsafeBufferPointer(samples))
    let stage = playing { Stage(&$0) }
    stage.sounds = SoundBank(number: 1, accent: sound, beat: sound, subdivision: sound)
    stage.settings.clock.when = .always
    stage.settings.pulse.rate = .fortyEight
    stage.settings.launch.countIn = 1
    stage.enter = rtsanEnter
    stage.leave = {
      if stage.tally.cycles == 1_000 { plant() }
      rtsanExit()
    }
    while stage.tally.seconds < 3_600 {
      disturb(stage)
      playing { stage.play(&$0) }
    }
    var channel = Channel()
    var time = 1e9
    while time < 1e9 + 600e6 { time = channel.play(from: time) }
    let heard = channel.figures
    print(
      "\(heard.received) chunks of \(heard.streams) streams received, \(heard.concealed) gaps concealed,",
      "\(heard.reseats) reseats")
    print(
      "\(stage.tally.cycles) cycles, \(stage.tally.clicked) with a click, \(stage.tally.messages) MIDI messages played,",
      "\(stage.tally.waits) cycles of a held start, \(stage.tally.bars) of a song past its first bar")
  }
}
