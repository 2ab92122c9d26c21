// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusSync

/// A mutated input, which is consumed piece by piece. When it is used up, it gives zeros.
struct Bytes {
  private var rest: Slice<UnsafeRawBufferPointer>

  init(_ bytes: UnsafeRawBufferPointer) { rest = bytes[...] }

  var isEmpty: Bool { rest.isEmpty }

  mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

  mutating func chance(_ sides: UInt8) -> Bool { byte() % sides == 0 }

  mutating func number<Number: FixedWidthInteger>() -> Number {
    (0..<MemoryLayout<Number>.size).reduce(0) { number, _ in number << 8 | Number(truncatingIfNeeded: byte())
    }
  }

  /// A number such as other JACK clients may write: plausible, extreme, or from uninitialized memory.
  mutating func double() -> Double {
    let strange: [Double] = [
      .nan, .infinity, -.infinity, 0, -0.0, .leastNonzeroMagnitude, .greatestFiniteMagnitude, -1, 1e18, -1e18,
    ]
    switch byte() % 4 {
    case 0: return Double(bitPattern: number())
    case 1: return strange[Int(byte()) % strange.count]
    case 2: return Double(Int16(truncatingIfNeeded: number() as Int32)) / 16
    default: return 20 + Double(number() as UInt16) / 64
    }
  }

  mutating func bytes(_ count: Int) -> [UInt8] { (0..<min(count, rest.count)).map { _ in byte() } }
}

struct Multiset {
  var cycles = 0, seconds = 0.0, clicked = 0, messages = 0, waits = 0, bars = 0
}

/// `HostSync` between a server, a session and a control thread that do what the input says. After each cycle,
/// its invariants are checked.
///
/// This simulation is not the tests' `Studio`, because its server does what no JACK server does (no sample
/// rate, times that jump, a transport that the input moves), and because it must not allocate between `enter`
/// and `leave`.
final class Stage {
  var session: SessionState
  var settings = Settings() { didSet { settingsNumber &+= 1 } }
  private var settingsNumber: UInt32 = 0
  var transport = Transport(state: .stopped, frame: 0)
  var received = MIDIEvents()
  var sounds = SoundBank()
  private(set) var tally = Multiset()
  /// Functions that are called before and after the audio thread's part of a cycle.
  var enter: () -> Void = {}, leave: () -> Void = {}
  private var sync = HostSync()
  private var plan = TransportPlan()
  private var relocation: Relocation?
  private var now = 1e9
  private var number: UInt32 = 0
  private static let longest: UInt32 = 8192
  private let samples = UnsafeMutablePointer<Float>.allocate(capacity: Int(4 * longest))
  private var rackEvents = MIDIEvents()
  private let rack: [OutputSlot] = {
    var bars = OutputSettings(.pulse), click = OutputSettings(.click), clock = OutputSettings(.clock)
    bars.gate?.rate = Rate(3, in: 2, isInBars: true)
    click.click?.subdivision = 8
    clock.clock?.perBeat = 96
    return [bars, click, clock].enumerated().map {
      OutputSlot(number: UInt32($0 + 1), revision: 0, settings: $1)
    }
  }()

  init(_ input: inout Bytes) {
    session = SessionState(
      timeline: Timeline(
        tempo: Tempo(20 + Double(input.number() as UInt16) / 70), beatOrigin: .zero,
        timeOrigin: Micros(999_000_000 + Int64(input.number() as UInt16))),
      startStop: ClientStartStop(isPlaying: input.chance(2), time: Micros(1_000_000_000), timestamp: .zero),
      isConnected: input.chance(2))
    choose(&input)
    settings.launch.countIn = Int32(input.byte() % 5)
    settings.launch.moment = [.bar, .beat, .now][Int(input.byte() % 3)]
    settings.launch.alignment = input.chance(2) ? .nearest : .exact
    settings.hostIsTheClock = input.chance(3)
    settings.syncsStartStop = input.chance(2)
    settings.click.isOn = true
    settings.clock.when = input.chance(2) ? .always : .rolling
    if input.chance(2) { plan.choices.correction = .locate }
  }

  /// Changes settings, also while the song plays or counts in.
  private func choose(_ input: inout Bytes) {
    settings.meter = Meter(beatsPerBar: Int32(input.byte() % 64) + 1, beatType: 1 << Int32(input.byte() % 6))
    let grids: [Quantum] = [
      .bar, .beats(4), .beats(1), .beats(3.5), .beats(7), .beats(0.125), .beats(0), .bar,
    ]
    settings.ownQuantum = grids[Int(input.byte() % 8)]
  }

  private var startStopsTaken: UInt32 = 0
  var moment: Micros { Micros(rounding: now) }

  deinit { samples.deallocate() }

  /// One cycle of the server; occasionally cycles are lost, or the server stalls.
  func play(_ input: inout Bytes, requested: BBT? = nil) {
    let frames: UInt32 = input.chance(60) ? Self.longest : [256, 64, 1024, 1][Int(input.byte() % 4)]
    let rate: UInt32 = input.chance(40) ? 0 : [48_000, 44_100, 192_000][Int(input.byte() % 3)]
    if input.chance(15) { choose(&input) }
    if input.chance(30) { number &+= input.number() }
    if input.chance(30) { now += Double(input.number() as UInt32) / 256 }
    let length = Double(frames) * 1e6 / Double(max(1, rate))
    var cycle = Cycle(
      frames: frames, sampleRate: rate,
      times: RawTimes(
        frame: number, wakeMicros: UInt64(now), isPairValid: !input.chance(20), currentMicros: UInt64(now),
        nextMicros: UInt64(now + length)), transport: transport,
      latencies: [
        .click1: frames, .clock: frames, .jack: UInt32(input.byte()) * 16, .control: UInt32(input.byte()),
      ],
      clock: .identity, session: SessionView(session, startStopsTaken: startStopsTaken), settings: settings,
      settingsNumber: settingsNumber,
      sounds: sounds,
      isFreewheeling: input.chance(50), relocation: relocation)
    enter()
    for index in 0..<received.count { sync.receive(received[index]) }
    if case .starting = transport.state {
      let mayRoll = sync.mayRoll(&cycle)
      tally.waits += mayRoll ? 0 : 1
      if mayRoll, input.chance(2) { transport.state = .rolling }
    }
    var outputs = Outputs()
    outputs[.click1] = buffer(0, frames)
    outputs[.pulse] = buffer(1, frames)
    outputs[.run] = buffer(2, frames)
    sync.run(&cycle, into: &outputs)
    playRack(frames)
    let shown = sync.bbt(nextFrame: transport.frame &+ frames, requested: requested)
    leave()
    judge(outputs, frames)
    precondition(shown == nil || shown?.beats != nil, "we show a bar and beat that make no sense: \(shown!)")
    count(outputs, frames, bar: shown?.bar)
    while let proposal = outputs.proposals.first {
      obey(proposal)
      outputs.proposals.removeFirst()
    }
    if rate > 0 { control(outputs.report, &input) }
    number &+= frames
    now += length
    if case .rolling = transport.state { transport.frame &+= frames }
  }

  /// Plays the outputs that count bars: pulses, a click, and a MIDI clock that starts on a bar.
  private func playRack(_ frames: UInt32) {
    for (place, var slot) in rack.enumerated() {
      sync.play(&slot, at: place, into: buffer(3, frames), &rackEvents)
      for index in 0..<rackEvents.count {
        precondition(rackEvents[index].frame < frames, "a message of an output after the buffer's end")
      }
    }
  }

  private func buffer(_ place: Int, _ frames: UInt32) -> AudioBuffer {
    AudioBuffer(samples + place * Int(Self.longest), frames: frames)
  }

  private func judge(_ outputs: borrowing Outputs, _ frames: UInt32) {
    for index in 0..<outputs.events.count {
      precondition(outputs.events[index].frame < frames, "a message after the buffer's end")
    }
    let report = outputs.report
    for value in [
      report.sessionBeat, report.song.beat, report.tempo, report.hostPhaseError, report.song.hostLag,
      report.launch.error, report.clockIn.tempo,
    ] { precondition(value.isFinite, "what is told is no number") }
  }

  private func count(_ outputs: borrowing Outputs, _ frames: UInt32, bar: Int32?) {
    tally.cycles += 1
    tally.seconds += Double(frames) / 48_000
    tally.clicked += (0..<Int(frames)).contains { samples[$0] != 0 } ? 1 : 0
    tally.messages += outputs.events.count
    tally.bars += bar != 1 ? 1 : 0
  }

  /// Carries out a proposal, as the network thread does.
  private func obey(_ proposal: Proposal) {
    switch proposal.change {
    case .tempo(let tempo): precondition(tempo > 10 && tempo < 2000, "proposes \(tempo) BPM")
    case .forceBeat(let beat, let quantum):
      precondition(beat.isFinite && quantum.isFinite, "proposes beat \(beat)")
    case .playing: startStopsTaken = proposal.number
    }
    session.apply(proposal)
    precondition((19.999...999.001).contains(session.tempo), "the session has \(session.tempo) BPM")
  }

  private func control(_ report: Report, _ input: inout Bytes) {
    let now = TransportPlan.Observation(report, at: moment, on: TransportServer())
    if input.chance(20) { plan.next(.command(command(&input)), now, carryOut) }
    plan.next(.observe, now, carryOut)
    plan.next(.session(report.startStop), now, carryOut)
    plan.next(.tick, now, carryOut)
  }

  private func command(_ input: inout Bytes) -> TransportCommand {
    switch input.byte() % 5 {
    case 0: .play
    case 1: .stop
    case 2: .stopOn(bar: input.chance(2))
    case 3: .locate(frame: input.number())
    default: .jump(frame: input.number(), beat: 8, step: 4)
    }
  }

  private func carryOut(_ action: TransportAction) {
    switch action {
    case .relocate(let next):
      relocation = next
      transport.frame = next.place.frame
      transport.state = .starting
    case .locate(let frame, _): transport.frame = frame
    case .locateIfOpen(let action):
      if action.isOpen(transport.state, at: transport.frame) { transport.frame = action.place.frame }
    case .stop: transport.state = .stopped
    case .play: if case .stopped = transport.state { transport.state = .starting }
    case .holdOn, .limit, .insistOnLimit: break
    }
  }
}
