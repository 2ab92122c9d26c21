// SPDX-License-Identifier: GPL-2.0-or-later
public import Choices

/// One of the user's own outputs in this cycle.
public struct OutputSlot: BitwiseCopyable {
  /// Another number at the same place is another output, which begins anew.
  public var number: UInt32
  public var settings: OutputSettings
  /// Frames until it is heard.
  public var latency: UInt32

  @_noLocks @_noAllocation
  public init(number: UInt32, settings: OutputSettings, latency: UInt32 = 0) {
    self.number = number
    self.settings = settings
    self.latency = latency
  }
}

/// What the user's own outputs remember from cycle to cycle, each at its place.
struct OutputRack: BitwiseCopyable {
  private struct Memory: BitwiseCopyable {
    var number: UInt32
    var clock = MIDIClock()
    var pulse = Pulse()

    init(number: UInt32 = 0) { self.number = number }
  }

  private var places = InlineArray<32, Memory>(repeating: Memory())

  @inline(__always)
  mutating func play(
    _ output: borrowing OutputSlot, at place: Int, _ now: borrowing Now, window: Window, song: Song,
    passed: Int64, into buffer: AudioBuffer, _ events: inout MIDIEvents
  ) {
    if places[place].number != output.number { places[place] = Memory(number: output.number) }
    let gate = output.settings.gate
    let beatsPerBar = now.settings.meter.beats
    switch output.settings.kind {
    case .clock:
      places[place].clock.run(
        into: &events, window: window, song: song, transport: now.transport,
        settings: output.settings.clock, isSilenced: now.isFreewheeling, passed: passed,
        beatsPerBar: beatsPerBar)
    case .pulse, .reset:
      let marksStart = if case .reset = output.settings.kind { true } else { false }
      places[place].pulse.render(
        into: buffer, window: window, song: song, gate: gate, beatsPerBar: beatsPerBar,
        marksStart: marksStart, passed: passed, sampleRate: now.sampleRate)
    case .run:
      RunGate.render(into: buffer, window: window, song: song, gate: gate)
    }
  }

  func figures(at place: Int) -> ClockFigures { places[place].clock.figures }
}
