// SPDX-License-Identifier: GPL-2.0-or-later
// An hour of audio cycles through HostSync, with everything on and everything changing, for RealtimeSanitizer:
// what it does between enter and exit must not allocate, lock or make a system call.
import BeatMath
import Choices
import HostSync

@_silgen_name("__rtsan_ensure_initialized") func rtsanInitialise()
@_silgen_name("__rtsan_realtime_enter") func rtsanEnter()
@_silgen_name("__rtsan_realtime_exit") func rtsanExit()

#if PLANT_ALLOCATION
  final class Sin {}
  nonisolated(unsafe) var sin: Sin?
#elseif PLANT_LOCK
  import Synchronization
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

struct World {
  var random: UInt64 = 0x1234_5678_9ABC_DEF1
  var now = 1_000_000_000.0
  var frame: UInt32 = 4_294_000_000
  var transportFrame: UInt32 = 0
  var state = Transport.State.stopped
  var session: SessionState
  var settings = Settings()
  var bank: SoundBank
  var xruns: UInt32 = 0

  init(_ sound: Sound) {
    session = SessionState(
      timeline: Timeline(tempo: Tempo(120), beatOrigin: .zero, timeOrigin: Micros(1_000_000_000)),
      startStop: ClientStartStop(isPlaying: false, time: .zero, timestamp: .zero), isConnected: true)
    bank = SoundBank(number: 1, accent: sound, beat: sound, subdivision: sound)
    settings.click.isOn = true
    settings.clock.when = .always
    settings.pulse.rate = .fortyEight
    settings.click.countsIn = true
  }

  mutating func draw(_ limit: UInt64) -> UInt64 {
    random ^= random << 13
    random ^= random >> 7
    random ^= random << 17
    return random % limit
  }

  /// One cycle's worth of accidents, then the cycle.
  mutating func cycle(_ frames: UInt32) -> Cycle {
    let rate = 48_000.0
    switch draw(400) {
    case 0: session.setTempo(Double(20 + draw(979)), at: Micros(Int64(now)))
    case 1: session.timeline.timeOrigin = session.timeline.timeOrigin + Micros(Int64(draw(4_000)) - 2_000)
    case 2: session.forceBeat(Double(draw(100)), at: Micros(Int64(now)), quantum: 4)
    case 3: settings.click.subdivision = Int32(1 + draw(8))
    case 4: settings.meter.beatsPerBar = Int32(1 + draw(13))
    case 5:
      bank.number &+= 1
      settings.records.toggle()
      settings.launch.alignment = draw(2) == 0 ? .nearest : .exact
    case 6: state = .starting
    case 7: state = .rolling
    case 8: state = .stopped
    case 9: transportFrame = UInt32(draw(10_000_000))
    case 10:  // a stall of the driver
      now += 60_000
      frame &+= 2_880
      xruns &+= 1
    default: break
    }
    let start = UInt64(now)
    now += Double(frames) * 1e6 / rate
    let isSane = draw(300) != 0
    let times = RawTimes(
      frame: frame, wakeMicros: start &+ draw(100), isPairValid: draw(1_000) != 0, currentMicros: start,
      nextMicros: isSane ? UInt64(now) : start &- draw(50_000), xruns: xruns)
    let cycle = Cycle(
      frames: frames, sampleRate: 48_000, times: times,
      transport: Transport(state: state, frame: transportFrame),
      latencies: [.click1: 512, .click2: 512, .clock: 256, .pulse: 512, .run: 512, .jack: 512],
      clock: .identity, session: session, settings: settings, sounds: bank, isFreewheeling: draw(5_000) == 0,
      relocation: Relocation(
        SongPlace(frame: transportFrame, beat: 12), heardAt: now + Double(draw(40_000)), askAt: now))
    frame &+= frames
    if case .rolling = state { transportFrame &+= frames }
    return cycle
  }
}

@main struct Play {
  static func main() {
    rtsanInitialise()
    let buffers = UnsafeMutablePointer<Float>.allocate(capacity: 4 * 8_192)
    let samples = UnsafeMutableBufferPointer<Float>.allocate(capacity: 2_400)
    for index in samples.indices { samples[index] = 0.5 }
    var world = World(Sound(UnsafeBufferPointer(samples)))
    var sync = HostSync()
    var cycles = 0, clicked = 0, frames = 0, waits = 0, bars = 0, messages = 0
    while frames < 3_600 * 48_000 {
      let size = UInt32(16 << world.draw(10))
      let cycle = world.cycle(size)
      rtsanEnter()
      var outputs = Outputs()
      outputs[.click1] = AudioBuffer(buffers, frames: size)
      outputs[.click2] = AudioBuffer(buffers + 8_192, frames: size)
      outputs[.pulse] = AudioBuffer(buffers + 16_384, frames: size)
      outputs[.run] = AudioBuffer(buffers + 24_576, frames: size)
      if case .starting = cycle.transport.state { waits += sync.mayRoll(cycle) ? 0 : 1 }
      sync.run(cycle, into: &outputs)
      bars +=
        sync.bbt(
          nextFrame: cycle.transport.frame &+ size, requested: cycle.transport.bbt
        )?.bar != 1 ? 1 : 0
      if cycles == 1_000 { plant() }
      rtsanExit()
      if (0..<Int(size)).contains(where: { buffers[$0] != 0 }) { clicked += 1 }
      messages += outputs.events.count
      cycles += 1
      frames += Int(size)
    }
    print(
      "\(cycles) cycles, \(clicked) with a click, \(messages) MIDI messages played,",
      "\(waits) cycles of a held start, \(bars) of a song past its first bar")
  }
}
