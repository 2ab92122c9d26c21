// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath
public import TactusChoices

/// One of the user's own outputs, as it is in this cycle.
public struct OutputSlot: BitwiseCopyable {
  /// The number that identifies the output. If the number at a place of the rack changes, another output is
  /// there, which begins with new state.
  public var number: UInt32
  /// A number that changes whenever one of the fields after it changes.
  public var revision: UInt32
  public var settings: OutputSettings
  /// The output's offset, as in `Settings.offsets`: positive is earlier.
  public var offset: Micros
  /// The latency in frames: frame 0 of the buffer is heard that much later than it passes through JACK.
  public var latency: UInt32
  /// The number of times that the port went from no connection to one; wraps around.
  public var connections: UInt32

  @_noLocks @_noAllocation
  public init(
    number: UInt32, revision: UInt32, settings: OutputSettings, offset: Micros = .zero, latency: UInt32 = 0,
    connections: UInt32 = 0
  ) {
    self.number = number
    self.revision = revision
    self.settings = settings
    self.offset = offset
    self.latency = latency
    self.connections = connections
  }
}

extension OutputSlot {
  /// The number by which `OutputSleep` recognizes this output with these settings.
  fileprivate var subject: UInt64 { UInt64(number) << 32 | UInt64(revision) }

  /// The microseconds from the time at which a frame passes through JACK until it is heard through this
  /// output.
  func delay(frameMicros: Double) -> Double {
    Double(latency) * frameMicros + Double(offset.count)
  }

  /// This output's contribution to `Cycle.ownDelay`, which is the longest `startDelay` of all outputs.
  /// Timecode outputs contribute 0.
  public func startDelay(frameMicros: Double) -> Micros {
    settings.kind.isTimecode ? .zero : Micros(rounding: delay(frameMicros: frameMicros))
  }
}

/// The state that the user's own outputs keep from cycle to cycle, each output at its place.
struct OutputRack: BitwiseCopyable {
  /// The renderer of the output at a place of the rack. It has the state of one kind of output, so an output
  /// of another kind begins with new state.
  private enum Renderer: BitwiseCopyable {
    case clock(MIDIClock, sent: Programs)
    case pulse(Pulse)
    case run(RunGate)
    case reset(Pulse)
    case click(Click)
    case ltc(LTC)
    case mtc(MTC)
  }

  private struct Place: BitwiseCopyable {
    var number: UInt32 = 0
    var kind = OutputKind.pulse
    /// Whether a MIDI machine at this port may be playing, whatever kind the output has now.
    var mayPlay = false
    /// The output's renderer; nil: this output has not played yet.
    var renderer: Renderer?
  }

  /// The sleep (`OutputSleep`) of an output that has nothing to do: the value of all its frames, and the
  /// time, as heard at its port, at which the sleep ends.
  private struct Rest {
    var due = -Double.infinity
    var value: Float = 0
  }

  /// The lowest number of a sound bank that sounded at these outputs since the last report.
  private var oldestBank = UInt32.max
  private var idle = InlineArray<32, OutputSleep>(repeating: OutputSleep())
  private var places = InlineArray<32, Place>(repeating: Place())
  private let machinesMayPlay: Bool

  init(machinesMayPlay: Bool) { self.machinesMayPlay = machinesMayPlay }

  @inline(__always)
  mutating func play(
    _ output: inout OutputSlot, at place: Int, _ now: inout OutputContext, into buffer: AudioBuffer,
    _ events: inout MIDIEvents
  ) {
    if idle[place].lasts(&now, of: output.subject) {
      buffer.fill(with: idle[place].value)
      return
    }
    buffer.clear()
    // Compare only these few bytes: to look at a renderer's case, Swift would copy the whole renderer.
    if places[place].number != output.number || places[place].kind != output.settings.kind {
      startOver(output, at: place, &events)
    }
    let missed = idle[place].end(&now)
    let window = now.window(of: &output)
    let rest = render(&output, at: place, &now, window, missed, into: buffer, &events)
    idle[place].begin(&now, of: output.subject, window, due: rest.due, value: rest.value)
  }

  /// Renders with the renderer of the output's kind. If this place has no such renderer, makes a new one.
  @inline(__always)
  private mutating func render(
    _ output: inout OutputSlot, at place: Int, _ now: inout OutputContext, _ window: Window,
    _ missed: SkippedCycles, into buffer: AudioBuffer, _ events: inout MIDIEvents
  ) -> Rest {
    switch output.settings {
    case .clock(let settings, let programs):
      return runClock(
        settings, programs, at: place, &now, window, missed, connections: output.connections, &events)
    case .pulse(let gate):
      var pulse = if case .pulse(let pulse) = places[place].renderer { pulse } else { Pulse() }
      pulse.render(into: buffer, &now, window, gate, missed)
      places[place].renderer = .pulse(pulse)
      return Rest(due: pulse.due(in: window, gate), value: gate.rest)
    case .reset(let gate):
      var pulse = if case .reset(let pulse) = places[place].renderer { pulse } else { Pulse() }
      pulse.render(into: buffer, &now, window, gate, marksStart: true, missed)
      places[place].renderer = .reset(pulse)
      return Rest(due: pulse.due(in: window, gate), value: gate.rest)
    case .run(let gate):
      var run = if case .run(let run) = places[place].renderer { run } else { RunGate() }
      run.render(into: buffer, &now, window, gate)
      places[place].renderer = .run(run)
      return Rest(due: run.due, value: run.value(gate))
    case .click(let settings, let countIn):
      var click = if case .click(let click) = places[place].renderer { click } else { Click() }
      click.render(
        into: buffer, &now, window, settings, countIn: LaunchSettings.countIn(bars: countIn, in: now.meter),
        now.bank.built(settings.sound), missed)
      oldestBank = min(oldestBank, click.oldestBank(now.bank.number))
      places[place].renderer = .click(click)
      return Rest(due: click.due(in: window))
    case .ltc(let settings):
      var ltc = if case .ltc(let ltc) = places[place].renderer { ltc } else { LTC() }
      if now.isRolling {
        ltc.render(into: buffer, Self.timecode(settings, &now, window), settings, now.sampleRate)
      }
      places[place].renderer = .ltc(ltc)
      return Rest(due: now.isRolling ? -.infinity : .infinity)
    case .mtc(let settings):
      var mtc = if case .mtc(let mtc) = places[place].renderer { mtc } else { MTC() }
      mtc.run(into: &events, Self.timecode(settings, &now, window), settings.rate, &now, missed)
      places[place].renderer = .mtc(mtc)
      return Rest(due: mtc.isDone ? .infinity : -.infinity)
    }
  }

  @inline(__always)
  private mutating func runClock(
    _ settings: ClockSettings, _ programs: Programs, at place: Int, _ now: inout OutputContext,
    _ window: Window, _ missed: SkippedCycles, connections: UInt32, _ events: inout MIDIEvents
  ) -> Rest {
    var (clock, sent) =
      if case .clock(let clock, let sent) = places[place].renderer { (clock, sent) } else {
        (MIDIClock(mayPlay: places[place].mayPlay), Programs())
      }
    if !now.isFreewheeling { Self.send(programs, after: &sent, &events) }
    clock.run(into: &events, &now, window, settings, connections: connections, missed)
    places[place].renderer = .clock(clock, sent: sent)
    return Rest(due: events.hasRoom ? clock.due(in: window, &now) : -.infinity)
  }

  /// Sends the program changes that were not sent yet. They come before a start in the same cycle, so that
  /// the machine has its sound when it starts.
  @inline(__always)
  private static func send(_ programs: Programs, after sent: inout Programs, _ events: inout MIDIEvents) {
    while let (channel, number) = programs.next(after: sent), events.hasRoom {
      events.insert(MIDIEvent(frame: 0, program: number, channel: UInt8(truncatingIfNeeded: channel)))
      sent.merge(channel, from: programs)
    }
  }

  /// Forgets the state of the output that was at this place. If it was a MIDI clock and becomes another kind,
  /// stops its machine. A click's sound must end here: only a click that is rendered counts in `oldestBank`,
  /// so the memory of the sound may be freed in the next cycle.
  @inline(never)
  private mutating func startOver(_ output: OutputSlot, at place: Int, _ events: inout MIDIEvents) {
    var mayPlay = machinesMayPlay
    if places[place].number == output.number {
      mayPlay = places[place].mayPlay
      if case .clock(var clock, _) = places[place].renderer {
        clock.end(into: &events)
        mayPlay = clock.mayPlay
      }
    }
    places[place] = Place(number: output.number, kind: output.settings.kind, mayPlay: mayPlay)
  }

  @inline(__always)
  private static func timecode(_ settings: TimecodeSettings, _ now: inout OutputContext, _ window: Window)
    -> TimecodePlace
  {
    TimecodePlace(
      transportFrame: now.transportFrame, heard: now.heard, window: window, sampleRate: now.sampleRate,
      settings)
  }

  /// The lowest number of a sound bank that sounded in the last cycle.
  mutating func takeOldestBank() -> UInt32 {
    defer { oldestBank = .max }
    return oldestBank
  }

  /// The figures of the MIDI clock at this place. The function changes nothing; it is `mutating` because
  /// Swift would otherwise copy all places for each call.
  mutating func figures(at place: Int) -> ClockFigures {
    if case .clock(let clock, _) = places[place].renderer { clock.figures } else { ClockFigures() }
  }
}
