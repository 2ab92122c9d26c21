// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK
import Glibc
import LinkBeatMath
import TactusChoices
import TactusJACK
import TactusSync

/// Exercises the audio thread: every output is active, and everything that can happen around the thread
/// happens in random order. The session's tempo changes and its beat jumps, settings and sounds change, the
/// transport starts, stops and locates, ports are connected and disconnected, notes arrive, the period
/// changes, channels of Link Audio and the user's own outputs come and go. The command is `RealtimeStage
/// SECONDS [SEED]`, or, beside a running tactus, `RealtimeStage hand SECONDS [SEED]`.
///
/// The program asserts nothing: tools/prove-realtime watches the audio thread.
@main struct Stage {
  private let exchange: AudioExchange
  private let host: JACKHost
  private let hand: Hand
  private var wires = Wires()
  private let sounds = [Self.sound(of: 480, pitch: 40), Self.sound(of: 4_800, pitch: 24)]
  private var session: SessionState
  private var settings = Settings()
  private var bank: UInt32 = 0
  private var outputs: [OwnOutput] = []
  private var dice: Dice

  static func main() throws {
    var arguments = CommandLine.arguments.dropFirst()
    let isHandOnly = arguments.first == "hand"
    if isHandOnly { arguments = arguments.dropFirst() }
    let numbers = arguments.compactMap { Int64($0) }
    let end = linkTime() + Micros((numbers.first ?? 5) * 1_000_000)
    var dice = Dice(seed: UInt64(clamping: numbers.dropFirst().first ?? 1))
    if isHandOnly {
      let hand = try Hand()
      while linkTime() < end {
        hand.act(&dice)
        usleep(60_000)
      }
    } else {
      var stage = try Stage(dice)
      while linkTime() < end { stage.turn() }
      stage.host.close()
    }
  }

  private init(_ dice: Dice) throws {
    self.dice = dice
    let now = Self.linkTime()
    session = SessionState(
      timeline: Timeline(tempo: Tempo(120), beatOrigin: .zero, timeOrigin: now),
      startStop: ClientStartStop(isPlaying: false, time: .zero, timestamp: .zero), isConnected: true)
    settings.click.isOn = true
    settings.clock.when = .always
    settings.pulse.rate = .twentyFour
    exchange = AudioExchange(session: session, settings: settings)
    host = try JACKHost(name: "tactus", server: nil, exchange: exchange)
    host.wantsTimebase = true
    hand = try Hand()
    try host.start(at: now)
    exchange.publish(nextBank())
  }

  /// Runs one turn of 20 ms.
  private mutating func turn() {
    _ = host.step(at: Self.linkTime())
    while exchange.nextControlMessage() != nil {}
    wires.carry(at: Self.linkTime(), &dice)
    if dice.draw(below: 25) == 0 { wires.change(on: host, &dice) }
    switch dice.draw(below: 12) {
    case 0: session.setTempo(Double(60 + dice.draw(below: 240)), at: Self.linkTime())
    case 1: session.forceBeat(Double(dice.draw(below: 64)), at: Self.linkTime(), quantum: 4)
    case 2:
      let nudge = Micros(Int64(dice.draw(below: 4_000)) - 2_000)
      session.timeline.timeOrigin = session.timeline.timeOrigin + nudge
    case 3: settings.click.subdivision = Int32(1 + dice.draw(below: 4))
    case 4: settings.click.pattern = Pattern("X.xx.".utf8.prefix(dice.draw(below: 6))) ?? Pattern()
    case 5:
      settings.meter = Meter(
        beatsPerBar: Int32(1 + dice.draw(below: 8)), beatType: 1 << Int32(dice.draw(below: 6)))
    case 6: exchange.publish(nextBank())
    case 8: changeOutputs()
    case 7: settings.audio.delay = [.auto, .time(Micros(50_000)), .beats(1), .bars(1)][dice.draw(below: 4)]
    default: hand.act(&dice)
    }
    exchange.publish(session)
    exchange.publish(settings)
    usleep(20_000)
  }

  /// Keeps sixteen outputs most of the time. One of them gets other settings, is removed, or comes back.
  private mutating func changeOutputs() {
    let number = dice.draw(below: 20)
    outputs.removeAll { $0.name == "own_\(number)" }
    if outputs.count < 16 || dice.draw(below: 4) > 0 {
      let kinds = [OutputKind.clock, .clock, .pulse, .run, .reset, .click, .ltc, .mtc]
      var settings = OutputSettings(kinds[dice.draw(below: kinds.count)])
      let offset = Micros(Int64(dice.draw(below: 60_000)) - 30_000)
      settings.clock?.when = .always
      settings.clock?.perBeat = [6, 24, 96][dice.draw(below: 3)]
      settings.clock?.plays = dice.draw(below: 3) > 0
      settings.clock?.sendsPosition = dice.draw(below: 2) > 0
      settings.gate?.rate = [Rate(96), Rate(7, in: 3), Rate(isInBars: true)][dice.draw(below: 3)]
      settings.gate?.isInverted = dice.draw(below: 2) > 0
      settings.click?.subdivision = Int32(1 + dice.draw(below: 8))
      settings.timecode?.rate = TimecodeRate(rawValue: UInt8(dice.draw(below: 5))) ?? .fps25
      outputs.append(OwnOutput(name: "own_\(number)", settings: settings, offset: offset))
    }
    host.carry(outputs: outputs)
  }

  private mutating func nextBank() -> SoundBank {
    bank &+= 1
    let sound = sounds[Int(bank % 2)]
    return SoundBank(number: bank, accent: sound, beat: sound, subdivision: sound)
  }

  /// A sound that is never freed, because a voice may still play it.
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
