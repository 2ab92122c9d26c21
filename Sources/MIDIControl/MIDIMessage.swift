// SPDX-License-Identifier: GPL-2.0-or-later

/// What came in: which event, and how far it was pressed or turned.
public struct MIDIMessage: Hashable, Sendable {
  public enum Amount: Hashable, Sendable {
    /// 0 ... 1; a key's velocity, a knob's place.
    case level(Double)
    case release
    /// Machine control's locate.
    case seconds(Double)
  }

  /// With its channel, where it has one.
  public let event: MIDIEventName
  public let amount: Amount

  /// Longer than any message that is understood here.
  public static let longest = 16

  /// nil for whatever is no complete message of a kind that can be mapped. JACK hands out whole messages without
  /// running status; nobody promises that a client does, so everything is looked at.
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
      // From 120 on they are channel modes: all notes off is nobody's knob.
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

  /// Machine control: F0 7F device 06 command ... F7. Whichever device is meant: there is one tactus.
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
    // 44 06 01, then hours with the frame rate above bit 5, minutes, seconds, frames, hundredths of a frame.
    guard bytes.count == 13, bytes[5] == 6, bytes[6] == 1 else { return nil }
    let rates = [24.0, 25, 30_000 / 1001.0, 30]
    let rate = rates[Int(bytes[7] >> 5 & 3)]
    let frames = Double(bytes[10] & 0x1F) + Double(bytes[11]) / 100
    let whole = Double(bytes[7] & 0x1F) * 3600 + Double(bytes[8] & 0x3F) * 60 + Double(bytes[9] & 0x3F)
    self.init(.init(.machine(.locate)), .seconds(whole + frames / rate))
  }

  private static func level(_ byte: UInt8) -> Double { Double(byte) / 127 }

  /// By how many steps the wheel of this name was turned; nil: it is none, or stands.
  func steps(of wheel: MIDIEventName) -> Int? {
    guard case .jog(let number, let code) = wheel.kind, case .level(let level) = amount,
      MIDIEventName(.controller(number), wheel.channel).matches(event)
    else { return nil }
    let steps = code.steps(UInt8(level * 127 + 0.5))
    return steps == 0 ? nil : steps
  }

  /// A button's half of the way down counts, a key's every touch.
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

  /// What a lesson is given on purpose: a touch or a turn, not a release, nor a sequencer that runs along.
  var isLesson: Bool {
    switch event.kind {
    case .note, .program, .machine: amount != .release
    case .controller, .bend: amount != .level(0)
    case .start, .resume, .stop, .jog: false
    }
  }
}
