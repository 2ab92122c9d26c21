// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
public import TactusChoices

/// The state of one of the user's own outputs in this cycle.
public struct OutputSlot: BitwiseCopyable {
  /// Identifies the output. Another number at the same place is another output, which starts over.
  public var number: UInt32
  /// Changes whenever a field below changes.
  public var revision: UInt32
  public var settings: OutputSettings
  /// Frames from frame 0 of the buffer until it is heard.
  public var latency: UInt32
  /// Counts how often the port got its first connection; wraps.
  public var connections: UInt32

  @_noLocks @_noAllocation
  public init(
    number: UInt32, revision: UInt32, settings: OutputSettings, latency: UInt32 = 0, connections: UInt32 = 0
  ) {
    self.number = number
    self.revision = revision
    self.settings = settings
    self.latency = latency
    self.connections = connections
  }
}

extension OutputSlot {
  /// The number by which `Idle` recognizes this output with these settings.
  fileprivate var subject: UInt64 { UInt64(number) << 32 | UInt64(revision) }

  /// Microseconds from a frame's time in JACK until it is heard through this output.
  func delay(frameMicros: Double) -> Double {
    Double(latency) * frameMicros + Double(settings.offset.count)
  }

  /// This output's part in `Cycle.ownDelay`.
  public func startDelay(frameMicros: Double) -> Micros {
    settings.kind.isTimecode ? .zero : Micros(rounding: delay(frameMicros: frameMicros))
  }
}

/// The state that the user's own outputs keep from cycle to cycle, each at its place.
struct OutputRack: BitwiseCopyable {
  private struct Memory: BitwiseCopyable {
    let number: UInt32
    /// The kind of output that the state below belongs to. Another kind at the same port starts over.
    let kind: OutputKind
    var clock: MIDIClock
    var programs = Programs()
    var pulse = Pulse()
    var run = RunGate()
    var click = Click()
    var ltc = LTC()
    var mtc = MTC()

    init(number: UInt32 = 0, kind: OutputKind = .pulse, mayPlay: Bool = false) {
      self.number = number
      self.kind = kind
      clock = MIDIClock(mayPlay: mayPlay)
    }
  }

  /// The lowest number of a sound bank that sounded at these outputs since the last report.
  private var oldestBank = UInt32.max
  private var idle = InlineArray<32, Idle>(repeating: Idle())
  private var places = InlineArray<32, Memory>(repeating: Memory())
  private let machinesMayPlay: Bool

  init(machinesMayPlay: Bool) { self.machinesMayPlay = machinesMayPlay }

  @inline(__always)
  mutating func play(
    _ output: inout OutputSlot, at place: Int, _ now: inout Present, into buffer: AudioBuffer,
    _ events: inout MIDIEvents
  ) {
    if idle[place].lasts(&now, of: output.subject) {
      buffer.fill(with: idle[place].value)
      return
    }
    buffer.clear()
    if places[place].number != output.number || places[place].kind != output.settings.kind {
      startOver(output, at: place, &events)
    }
    let missed = idle[place].end(&now)
    let window = now.window(of: &output)
    let gate = output.settings.gate
    var due = -Double.infinity
    var value: Float = 0
    switch output.settings.kind {
    case .clock:
      if !now.isFreewheeling { change(output.settings.programs, at: place, &events) }
      places[place].clock.run(
        into: &events, &now, window, output.settings.clock, connections: output.connections, missed)
      if events.hasRoom { due = places[place].clock.due(in: window, &now) }
    case .pulse, .reset:
      let marksStart = if case .reset = output.settings.kind { true } else { false }
      places[place].pulse.render(into: buffer, &now, window, gate, marksStart: marksStart, missed)
      due = places[place].pulse.due(in: window, gate)
      value = gate.rest
    case .run:
      places[place].run.render(into: buffer, &now, window, gate)
      (due, value) = (places[place].run.due, places[place].run.value(gate))
    case .click:
      let click = output.settings.click
      places[place].click.render(
        into: buffer, &now, window, click,
        countIn: LaunchSettings.countIn(bars: output.settings.countIn, in: now.meter),
        now.bank.built(click.sound), missed)
      oldestBank = min(oldestBank, places[place].click.oldestBank(now.bank.number))
      due = places[place].click.due(in: window)
    case .ltc:
      if now.isRolling {
        places[place].ltc.render(
          into: buffer, timecode(&output, &now, window), output.settings.timecode, sampleRate: now.sampleRate)
      } else {
        due = .infinity
      }
    case .mtc:
      places[place].mtc.run(
        into: &events, timecode(&output, &now, window), output.settings.timecode.rate,
        isRolling: now.isRolling,
        isSilenced: now.isFreewheeling, passedMicros: Double(missed.frames) * now.frameMicros)
      if places[place].mtc.isDone { due = .infinity }
    }
    idle[place].begin(&now, of: output.subject, window, due: due, value: value)
  }

  /// Forgets the output that was here. Its sound ends: only a click that is rendered counts in `oldestBank`,
  /// so the sound's memory may be freed in the next cycle.
  @inline(never)
  private mutating func startOver(_ output: OutputSlot, at place: Int, _ events: inout MIDIEvents) {
    var mayPlay = machinesMayPlay
    if places[place].number == output.number {
      places[place].clock.end(into: &events)
      mayPlay = places[place].clock.mayPlay
    }
    places[place] = Memory(number: output.number, kind: output.settings.kind, mayPlay: mayPlay)
  }

  /// Sends program changes. They come before a start in the same cycle, so that the machine has its sound by
  /// then.
  @inline(__always)
  private mutating func change(_ programs: Programs, at place: Int, _ events: inout MIDIEvents) {
    while let (channel, number) = programs.next(after: places[place].programs), events.hasRoom {
      events.insert(MIDIEvent(frame: 0, program: number, channel: UInt8(truncatingIfNeeded: channel)))
      places[place].programs.take(channel, from: programs)
    }
  }

  @inline(__always)
  private func timecode(_ output: inout OutputSlot, _ now: inout Present, _ window: Window)
    -> TimecodePlace
  {
    TimecodePlace(
      transportFrame: now.transportFrame, heard: now.heard, window: window, sampleRate: now.sampleRate,
      output.settings.timecode)
  }

  /// The lowest number of a sound bank that sounded in the last cycle.
  mutating func takeOldestBank() -> UInt32 {
    defer { oldestBank = .max }
    return oldestBank
  }

  func figures(at place: Int) -> ClockFigures { places[place].clock.figures }
}
