// SPDX-License-Identifier: GPL-2.0-or-later

/// A MIDI event that arrived, with how far its key or knob was pressed or turned.
public struct MIDIMessage: Hashable, Sendable {
  public enum Amount: Hashable, Sendable {
    /// From 0 to 1: the velocity of a key, or the position of a knob.
    case level(Double)
    case release
    /// The position in machine control's locate command, in seconds.
    case seconds(Double)
  }

  /// The event, with its channel if it has one.
  public let event: MIDIEventName
  public let amount: Amount

  /// The length limit in bytes; every message that can be mapped is shorter.
  public static let longest = 16

  /// Parses a message; nil: the bytes are no complete message of a kind that can be mapped. JACK's clients
  /// should send whole messages without running status, but nothing forces them, so every byte is checked.
  public init?(_ bytes: [UInt8]) {
    guard let status = bytes.first, bytes.count <= Self.longest else { return nil }
    let data = bytes.dropFirst()
    if status != 0xF0 { guard data.allSatisfy({ $0 < 0x80 }) else { return nil } }
    let channel = status & 0x0F + 1
    switch (status & 0xF0, data.count) {
    case (0x80, 2):
      self.init(.init(.note(bytes[1]), channel), .release)
    case (0x90, 2):
      self.init(.init(.note(bytes[1]), channel), bytes[2] == 0 ? .release : .level(Self.level(bytes[2])))
    case (0xB0, 2):
      // Controllers from 120 on are channel mode messages, such as all notes off. No knob sends them.
      guard bytes[1] < 120 else { return nil }
      self.init(.init(.controller(bytes[1]), channel), .level(Self.level(bytes[2])))
    case (0xC0, 1):
      self.init(.init(.program(bytes[1]), channel), .level(1))
    case (0xE0, 2):
      self.init(.init(.bend, channel), .level((Double(bytes[2]) * 128 + Double(bytes[1])) / 16_383))
    case (0xF0, _):
      self.init(system: bytes)
    default: return nil
    }
  }

  init(_ event: MIDIEventName, _ amount: Amount) {
    self.event = event
    self.amount = amount
  }

  private init?(system bytes: [UInt8]) {
    switch (bytes[0], bytes.count) {
    case (0xFA, 1): self.init(.init(.start), .level(1))
    case (0xFB, 1): self.init(.init(.resume), .level(1))
    case (0xFC, 1): self.init(.init(.stop), .level(1))
    case (0xF0, 6...): self.init(exclusive: bytes)
    default: return nil
    }
  }

  /// Reads a message of machine control: F0 7F device 06 command ... F7. The device number is ignored: tactus
  /// is a single device.
  private init?(exclusive bytes: [UInt8]) {
    let last = bytes.count - 1
    guard bytes[1] == 0x7F, bytes[3] == 0x06, bytes[last] == 0xF7, bytes[1..<last].allSatisfy({ $0 < 0x80 }),
      let command = MIDIMachineCommand.allCases.first(where: { $0.code == bytes[4] })
    else { return nil }
    guard command == .locate else {
      guard bytes.count == 6 else { return nil }
      self.init(.init(.machine(command)), .level(1))
      return
    }
    // A locate has 44 06 01, then hours (with the frame rate in bits 5 and 6), minutes, seconds, frames, and
    // hundredths of a frame.
    guard bytes.count == 13, bytes[5] == 6, bytes[6] == 1 else { return nil }
    let rates = [24.0, 25, 30_000 / 1001.0, 30]
    let rate = rates[Int(bytes[7] >> 5 & 3)]
    let frames = Double(bytes[10] & 0x1F) + Double(bytes[11]) / 100
    let whole = Double(bytes[7] & 0x1F) * 3600 + Double(bytes[8] & 0x3F) * 60 + Double(bytes[9] & 0x3F)
    self.init(.init(.machine(.locate)), .seconds(whole + frames / rate))
  }

  private static func level(_ byte: UInt8) -> Double { Double(byte) / 127 }

  /// The steps by which this wheel was turned; nil: the event is not the wheel's, or the wheel was not
  /// turned.
  func steps(of wheel: MIDIEventName) -> Int? {
    guard case .jog(let number, let code) = wheel.kind, case .level(let level) = amount,
      MIDIEventName(.controller(number), wheel.channel).matches(event)
    else { return nil }
    let steps = code.steps(UInt8(level * 127 + 0.5))
    return steps == 0 ? nil : steps
  }

  /// Whether the message presses something. A knob, pedal or button counts as pressed from half its range up;
  /// a key counts as pressed at every velocity.
  public var isPressed: Bool {
    switch amount {
    case .release: false
    case .seconds: true
    case .level(let level):
      switch event.kind {
      case .controller, .bend: level >= 0.5
      case .note, .jog, .program, .start, .resume, .stop, .machine: true
      }
    }
  }

  /// Whether the event can be learned: a press or a turn, but no release, and no message that a running
  /// sequencer sends by itself.
  var isLesson: Bool {
    switch event.kind {
    case .note, .program, .machine: amount != .release
    case .controller, .bend: amount != .level(0)
    case .start, .resume, .stop, .jog: false
    }
  }
}
