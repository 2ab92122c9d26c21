// SPDX-License-Identifier: GPL-2.0-or-later
import TactusChoices

/// The outputs at the ports that always exist, each rendered for the latency of its port.
struct StandardOutputs: BitwiseCopyable {
  private var click1 = Click()
  private var click2 = Click()
  private var clock: MIDIClock
  private var pulse = Pulse()
  private var run = RunGate()
  private var idle = PerPort(repeating: OutputSleep())
  private var wasRecording = false

  init(machinesMayPlay: Bool) { clock = MIDIClock(mayPlay: machinesMayPlay) }

  mutating func play(
    _ now: borrowing CycleContext, _ present: inout OutputContext, into outputs: inout Outputs
  ) {
    Self.play(&click1, .click1, &idle[.click1], now, &present, into: outputs[.click1])
    Self.play(&click2, .click2, &idle[.click2], now, &present, into: outputs[.click2])
    playPulse(now, &present, into: outputs[.pulse])
    run.render(into: outputs[.run], &present, present.window(delayedBy: now.delay(of: .run)))
    playClock(now, &present, into: &outputs.events)
    if now.settings.records != wasRecording {
      wasRecording = now.settings.records
      let command = wasRecording ? MIDI.recordStrobe : MIDI.recordExit
      outputs.events.insert(MIDIEvent(frame: 0, machineControl: command))
    }
  }

  private static func play(
    _ click: inout Click, _ port: Port, _ idle: inout OutputSleep, _ now: borrowing CycleContext,
    _ present: inout OutputContext,
    into buffer: AudioBuffer
  ) {
    if idle.lasts(&present) { return }
    let window = present.window(delayedBy: now.delay(of: port))
    click.render(
      into: buffer, &present, window, now.settings.click,
      countIn: now.settings.countIn(bars: now.settings.launch.countIn), present.bank, idle.end(&present))
    idle.begin(&present, window, due: click.due(in: window))
  }

  private mutating func playPulse(
    _ now: borrowing CycleContext, _ present: inout OutputContext, into buffer: AudioBuffer
  ) {
    if idle[.pulse].lasts(&present) { return }
    let window = present.window(delayedBy: now.delay(of: .pulse))
    let gate = now.settings.pulse.gate
    pulse.render(into: buffer, &present, window, gate, idle[.pulse].end(&present))
    idle[.pulse].begin(&present, window, due: pulse.due(in: window, gate))
  }

  private mutating func playClock(
    _ now: borrowing CycleContext, _ present: inout OutputContext, into events: inout MIDIEvents
  ) {
    if idle[.clock].lasts(&present) { return }
    let window = present.window(delayedBy: now.delay(of: .clock))
    clock.run(
      into: &events, &present, window, now.settings.clock, connections: now.clockConnections,
      idle[.clock].end(&present))
    idle[.clock].begin(&present, window, due: clock.due(in: window, &present))
  }

  /// Returns the report of all outputs. `bank` is the number of the present sound bank, `oldest` the lowest
  /// number of a sound bank that still sounds at the user's own outputs.
  mutating func report(lostMIDI: UInt64, bank: UInt32, oldest: UInt32) -> OutputReport {
    OutputReport(
      lostMIDI: lostMIDI, clockJitter: clock.figures.jitter, pulseJitter: pulse.jitter.micros,
      oldestBank: min(oldest, min(click1.oldestBank(bank), click2.oldestBank(bank))))
  }
}
