// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import CJACK
import Glibc
import HostSync
import JACKHost

/// A life for the audio thread: every output at work, and in random order all that can happen around it. The
/// session changes its tempo and jumps, settings and sounds change, the transport starts, stops and locates,
/// ports are connected and cut, notes come in, the period changes. `RealtimeStage SECONDS [SEED]`
///
/// It asserts nothing: whoever watches the audio thread does (tools/prove-realtime).
@main struct Stage {
  private let exchange: AudioExchange
  private let host: JACKHost
  private let hand: Hand
  private let sounds = [Self.sound(of: 480, pitch: 40), Self.sound(of: 4_800, pitch: 24)]
  private var session: SessionState
  private var settings = Settings()
  private var bank: UInt32 = 0
  private var random: UInt64

  static func main() throws {
    let arguments = CommandLine.arguments.dropFirst().compactMap { Int64($0) }
    var stage = try Stage(seed: UInt64(clamping: arguments.dropFirst().first ?? 1))
    let end = linkTime() + Micros((arguments.first ?? 5) * 1_000_000)
    while linkTime() < end { stage.turn() }
    let report = stage.exchange.report()
    print(
      "\(stage.exchange.cycleCount) cycles, \(report.clicks) clicks, \(report.clocks) clocks,",
      "\(report.pulses) pulses, \(report.jumps) jumps")
    stage.host.close()
  }

  private init(seed: UInt64) throws {
    random = seed &* 0x9E37_79B9_7F4A_7C15 | 1
    let now = Self.linkTime()
    session = SessionState(
      timeline: Timeline(tempo: Tempo(120), beatOrigin: .zero, timeOrigin: now),
      startStop: ClientStartStop(isPlaying: false, time: .zero, timestamp: .zero), isConnected: true)
    settings.click.mode = .always
    settings.clock.runsWhileStopped = true
    settings.pulse.rate = .perBeat(24)
    exchange = AudioExchange(session: session, settings: settings)
    host = try JACKHost(name: "tactus", server: nil, exchange: exchange)
    hand = try Hand()
    try host.start(at: now)
    exchange.publish(nextBank())
    hand.plug(true)
  }

  /// 20 ms of it.
  private mutating func turn() {
    _ = host.step(at: Self.linkTime())
    while exchange.nextControlMessage() != nil {}
    switch draw(below: 12) {
    case 0: session.setTempo(Double(60 + draw(below: 240)), at: Self.linkTime())
    case 1: session.forceBeat(Double(draw(below: 64)), at: Self.linkTime(), quantum: 4)
    case 2:
      session.timeline.timeOrigin = session.timeline.timeOrigin + Micros(Int64(draw(below: 4_000)) - 2_000)
    case 3: settings.click.subdivision = Int32(1 + draw(below: 4))
    case 4: settings.click.pattern = Pattern("X.xx.".utf8.prefix(draw(below: 6))) ?? Pattern()
    case 5: settings.meter = Meter(beatsPerBar: Int32(1 + draw(below: 8)))
    case 6: exchange.publish(nextBank())
    case 7: hand.start()
    case 8: hand.stop()
    case 9: hand.locate(UInt32(draw(below: 1_000_000)))
    case 10: hand.plug(draw(below: 2) == 0)
    default: if draw(below: 12) == 0 { hand.setPeriod(draw(below: 2) == 0 ? 64 : 256) }
    }
    exchange.publish(session)
    exchange.publish(settings)
    usleep(20_000)
  }

  private mutating func draw(below limit: Int) -> Int {
    random ^= random << 13
    random ^= random >> 7
    random ^= random << 17
    return Int(random % UInt64(limit))
  }

  private mutating func nextBank() -> SoundBank {
    bank &+= 1
    let sound = sounds[Int(bank % 2)]
    return SoundBank(number: bank, accent: sound, beat: sound, subdivision: sound)
  }

  /// Lives as long as the program: a voice may still play it.
  private static func sound(of frames: Int, pitch: Int) -> Sound {
    let samples = UnsafeMutableBufferPointer<Float>.allocate(capacity: frames)
    for frame in 0..<frames { samples[frame] = frame % pitch < pitch / 2 ? 0.5 : -0.5 }
    return Sound(UnsafeBufferPointer(samples))
  }

  private static func linkTime() -> Micros {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC_RAW, &time)
    return Micros(Int64(time.tv_sec) &* 1_000_000 &+ Int64(time.tv_nsec) / 1_000)
  }
}
