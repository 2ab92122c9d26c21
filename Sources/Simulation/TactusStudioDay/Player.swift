// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkSession
import LinkWorld
import TactusChoices
import TactusSync

/// A fault that we make on purpose between `HostSync` and the ears (the judges of its output), to test that
/// an ear finds it.
public enum Plant: String, Sendable, CaseIterable {
  case clickSkipped = "click-skipped"
  case clickDoubled = "click-doubled"
  case clickLate = "click-late"
  case clockSkipped = "clock-skipped"
  case clockDoubled = "clock-doubled"
}

/// The stage of a launch.
public enum LaunchStage: Sendable { case waiting, released }

/// A JACK server on the machine of one peer, with `HostSync` in it. The driver's wake-ups are events of the
/// world, and are as late as on a busy machine. Occasionally the client loses cycles, or the driver stalls.
///
/// This type has more than 20 properties: the driver, the client, the ears and the troubles of one machine.
final class Player {
  /// `cyclesPerLoss`: the average number of cycles between two losses of a few cycles. `cyclesPerStall`: the
  /// same between two stalls of the driver.
  private static let cyclesPerLoss = 20_000
  private static let cyclesPerStall = 40_000
  /// The average number of cycles between two exports, and between two deaths of the server.
  var cyclesPerExport: Int { 120 * Int(plan.sampleRate / plan.frames) }
  static let cyclesPerDeath = 400_000

  let plan: Day.Plan
  private let peer: Int
  var dice: Dice
  var driver = Jack2Clock(sampleRate: 48_000, start: 0)
  private var lateness = 0.0
  private var stall = 0.0
  var cyclesSinceStall = 0

  var sync = HostSync()
  private var settings = Settings()
  var transport = Transport(state: .stopped, frame: 0)
  let latencies: PerPort<UInt32>
  private let samples: UnsafeMutablePointer<Float>
  let click: UnsafeMutablePointer<Float>

  private(set) var clicks = Ear(.oneClick, perBeat: 1, closest: 0.25)
  /// Judges the MIDI clocks as a receiver hears them. For a moment they may come at twice the speed.
  private(set) var clocks = Ear(.oneClock, perBeat: 24, closest: 0.45)
  var receiver = Receiver()
  private(set) var report = Report()
  private(set) var counter = FrameCounter()
  var exportComplaints: [(promise: Promise, at: Double, text: String)] = []
  var freewheel: Freewheel?
  var export: Export?
  /// The state of the session when the export began.
  var exportSession: SessionState?
  /// Whether this cycle is the first cycle of real time after an export or a death of the server.
  var isBack = false
  var exports = (count: 0, hours: 0.0, clicks: 0)
  var deaths = (count: 0, inLaunches: 0)
  var startsAtDeath = -1
  /// Whether the transport was released in the last cycle, so that it rolls in this cycle.
  var isReleased = false
  private(set) var cycles = 0
  private(set) var lost = 0
  private(set) var stalls = 0

  init(_ plan: Day.Plan, peer: Int) {
    self.plan = plan
    self.peer = peer
    dice = Dice(seed: plan.seed ^ 0x706c_6179)
    latencies = [.click1: 2 * plan.frames + 17, .clock: plan.frames, .jack: 2 * plan.frames]
    samples = .allocate(capacity: 1)
    samples.initialize(to: 1)
    click = .allocate(capacity: Int(plan.frames))
    click.initialize(repeating: 0, count: Int(plan.frames))
    settings.click.isOn = true
    settings.click.gain = 1
    settings.clock.when = .always
  }

  deinit {
    samples.deallocate()
    click.deallocate()
  }

  func begin(in world: LinkWorld) {
    let host = Double(world.host(of: peer).count)
    driver = Jack2Clock(sampleRate: Double(plan.sampleRate), start: host + 1000)
    driver.crystal = 100e-6 * (2 * dice.fraction() - 1)
    // JACK's counter wraps within the first ten minutes.
    driver.frame = 0 &- UInt32.random(in: 0..<plan.sampleRate * 600, using: &dice)
    transport.frame = 0 &- UInt32.random(in: 0..<plan.sampleRate * 600, using: &dice)
    if plan.isNight { transport.state = .rolling }
    awaitDriver(in: world)
  }

  private func awaitDriver(in world: LinkWorld) {
    lateness = freewheel == nil ? Jack2Clock.lateness(&dice) : 20
    stall = 0
    defer {
      let wake = Micros(rounding: driver.nextDue + lateness + stall)
      world.plan(at: world.peers[peer].clock.world(at: wake)) { [self] in wakeUp(in: $0) }
    }
    guard freewheel == nil else { return }
    if !plan.isNight { meetFate() }
    if Int.random(in: 0..<Self.cyclesPerLoss, using: &dice) == 0 {
      let count = Int.random(in: 1...8, using: &dice)
      driver.lose(cycles: count, frames: plan.frames, dice: &dice)
      lost += count
    }
    if Int.random(in: 0..<Self.cyclesPerStall, using: &dice) == 0 {
      stall = Double(Int.random(in: 8_000...150_000, using: &dice))
      stalls += 1
    }
  }

  private func wakeUp(in world: LinkWorld) {
    let times = driver.cycle(
      frames: plan.frames, lateness: lateness, stall: stall, speed: freewheel == nil ? 1 : 20)
    cyclesSinceStall = stall > 0 ? 0 : cyclesSinceStall + 1
    let state = world.peers[peer].snapshot.state
    if freewheel == nil { follow(state) } else { advanceExport(state) }
    play(times, state)
    if freewheel?.left == 0 { endFreewheel() }
    cycles += 1
    // The crystal's rate changes slowly, as with temperature.
    if cycles % 10_000 == 0 {
      driver.crystal = min(100e-6, max(-100e-6, driver.crystal + 4e-6 * (dice.fraction() - 0.5)))
    }
    awaitDriver(in: world)
  }

  /// Makes the transport follow the session's starts and stops, as the program does.
  private func follow(_ state: SessionState) {
    if plan.isNight { return }
    switch (state.isPlaying, transport.state) {
    case (true, .stopped): transport.state = .starting
    case (false, .starting), (false, .rolling): transport.state = .stopped
    case (true, .starting), (true, .rolling), (false, .stopped): break
    }
  }

  private func play(_ times: RawTimes, _ state: SessionState) {
    let frames = plan.frames
    var cycle = Cycle(
      frames: frames, sampleRate: plan.sampleRate, times: times, transport: transport, latencies: latencies,
      clock: .identity, session: SessionView(state, startStopsTaken: 0), settings: settings,
      settingsNumber: 0,
      sounds: SoundBank(number: 1, accent: sound, beat: sound, subdivision: sound),
      isFreewheeling: freewheel != nil)
    var mayRoll = false
    if case .starting = transport.state { mayRoll = sync.mayRoll(&cycle) }
    var outputs = Outputs()
    outputs[.click1] = AudioBuffer(click, frames: frames)
    sync.run(&cycle, into: &outputs)
    report = outputs.report
    let beats = SessionBeats(
      origin: Double(state.timeline.timeOrigin.count),
      beatMicros: Double(state.timeline.tempo.clamped.microsPerBeat))
    if freewheel == nil {
      listen(to: outputs.events, beats)
    } else {
      listenToExport(outputs.events)
    }
    if case .rolling = transport.state { transport.frame &+= frames }
    if mayRoll { transport.state = .rolling }
    isReleased = mayRoll
  }

  private var sound: Sound { Sound(UnsafeBufferPointer(start: samples, count: 1)) }
}

extension Player {
  private func listen(to events: MIDIEvents, _ beats: SessionBeats) {
    let frameMicros = driver.period(plan.frames) / Double(plan.frames)
    // The time of the stalled cycle is in doubt, and so is that of the next cycle, which the driver runs
    // right after it.
    let isTimeInDoubt = cyclesSinceStall < 2
    func heard(_ frame: Int, _ latency: UInt32) -> Double {
      driver.due + (Double(frame) + Double(latency)) * frameMicros
    }
    let frames = Int(plan.frames)
    if isBack {
      clicks.comeBack(at: heard(0, latencies[.click1]), beats: beats, lateness: lateness)
      clocks.comeBack(at: heard(0, latencies[.clock]), beats: beats, lateness: lateness)
      isBack = false
    }
    if plan.isNight {
      counter.count(
        plan.frames, sampleRate: plan.sampleRate, due: driver.due,
        lag: isTimeInDoubt ? nil : report.song.hostLag)
    }
    clicks.open(
      from: heard(0, latencies[.click1]), to: heard(frames, latencies[.click1]), beats: beats,
      isTimeInDoubt: isTimeInDoubt)
    for frame in 0..<frames where click[frame] != 0 {
      hearClick(at: heard(frame, latencies[.click1]))
    }
    clocks.open(
      from: heard(0, latencies[.clock]), to: heard(frames, latencies[.clock]), beats: beats,
      isTimeInDoubt: isTimeInDoubt)
    for index in 0..<events.count {
      let event = events[index]
      let time = heard(Int(event.frame), latencies[.clock])
      receiver.receive(event, at: time)
      if event.status == MIDI.clock { receiveClock(at: time) }
    }
  }

  /// Whether to spoil this event. If a fault is planted, every thousandth event is spoilt.
  private func isSpoilt(_ ear: Ear, by plant: Plant) -> Bool {
    plan.plant == plant && ear.heard % 1000 == 500
  }

  private func hearClick(at time: Double) {
    if isSpoilt(clicks, by: .clickSkipped) {
      clicks.miss()
      return
    }
    let isLate = isSpoilt(clicks, by: .clickLate)
    let isDouble = isSpoilt(clicks, by: .clickDoubled)
    clicks.listen(at: isLate ? time + 1500 : time)
    if isDouble { clicks.listen(at: time + 20_000) }
  }

  private func receiveClock(at time: Double) {
    if isSpoilt(clocks, by: .clockSkipped) {
      clocks.miss()
      return
    }
    let isDouble = isSpoilt(clocks, by: .clockDoubled)
    clocks.listen(at: time)
    if isDouble { clocks.listen(at: time + 100) }
  }
}

/// A sequencer at the MIDI port. It checks the order of the messages.
struct Receiver {
  private(set) var isRunning = false
  private(set) var starts = 0
  private(set) var complaints = Complaints()

  mutating func receive(_ event: MIDIEvent, at time: Double) {
    switch event.status {
    case MIDI.start, MIDI.resume:
      if isRunning { complaints.add(.order, at: time, "started while it runs") }
      isRunning = true
      starts += 1
    case MIDI.stop:
      if !isRunning { complaints.add(.order, at: time, "stopped while it stands") }
      isRunning = false
    case MIDI.songPosition:
      if isRunning { complaints.add(.order, at: time, "a position while it runs") }
    case MIDI.clock: break
    default: complaints.add(.order, at: time, "an unknown message, \(event.status)")
    }
  }

  /// The server is gone, and the sequencer's connection with it.
  mutating func unplug() { isRunning = false }
}
