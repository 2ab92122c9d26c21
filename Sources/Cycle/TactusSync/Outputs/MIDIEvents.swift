// SPDX-License-Identifier: GPL-2.0-or-later

/// A complete MIDI message at a frame of the buffer, without running status (facts: jack 10).
public struct MIDIEvent: Hashable, Sendable, BitwiseCopyable {
  public var frame: UInt32
  /// The number of bytes: 1, 2 or 3; 6 for MIDI Machine Control, 10 for a full frame of timecode.
  public var count: UInt8
  public var status: UInt8
  public var data1: UInt8
  public var data2: UInt8
  public var data3: UInt8 = 0
  public var data4: UInt8 = 0

  @_noLocks @_noAllocation
  public init(frame: UInt32, status: UInt8) {
    self.frame = frame
    count = 1
    self.status = status
    data1 = 0
    data2 = 0
  }

  /// A Song Position Pointer. `position` counts sixteenths and has 14 bits.
  @_noLocks @_noAllocation
  public init(frame: UInt32, position: UInt16) {
    self.frame = frame
    count = 3
    status = MIDI.songPosition
    data1 = UInt8(truncatingIfNeeded: position & 0x7f)
    data2 = UInt8(truncatingIfNeeded: (position >> 7) & 0x7f)
  }

  /// A program change. Programs and channels count from 0, as in MIDI.
  @_noLocks @_noAllocation
  public init(frame: UInt32, program: UInt8, channel: UInt8) {
    self.init(frame: frame, status: MIDI.program | channel & 0x0f)
    count = 2
    data1 = program & 0x7f
  }

  /// A command of MIDI Machine Control, for every device.
  public init(frame: UInt32, machineControl command: UInt8) {
    self.frame = frame
    count = 6
    status = MIDI.exclusive
    data1 = command
    data2 = 0
  }

  /// The byte at the index `place`, which must be below `count`.
  @_noLocks @_noAllocation
  public func byte(_ place: Int) -> UInt8 {
    switch (count, place) {
    case (_, 0): status
    case (6, 1), (6, 2), (10, 1), (10, 2): 0x7F  // real time, every device
    case (6, 3): 0x06  // machine control
    case (6, 4): data1
    case (6, _), (10, 9): 0xF7
    case (10, 3), (10, 4): 0x01  // timecode, full frame
    case (10, 5): data1
    case (10, 6): data2
    case (10, 7): data3
    case (10, 8): data4
    case (_, 1): data1
    case (_, _): data2
    }
  }
}

/// Status bytes of the MIDI 1.0 messages that tactus sends, and commands of MIDI Machine Control.
public enum MIDI {
  public static var exclusive: UInt8 { 0xF0 }
  /// The status byte of a program change on the first channel.
  static var program: UInt8 { @_noLocks @_noAllocation get { 0xC0 } }
  /// The commands of MIDI Machine Control that start and end a recording.
  public static var recordStrobe: UInt8 { 0x06 }
  public static var recordExit: UInt8 { 0x07 }
  public static var quarterFrame: UInt8 { 0xF1 }
  public static var songPosition: UInt8 { @_noLocks @_noAllocation get { 0xF2 } }
  public static var clock: UInt8 { 0xF8 }
  public static var start: UInt8 { 0xFA }
  public static var resume: UInt8 { 0xFB }
  public static var stop: UInt8 { 0xFC }

  /// Returns whether `status` is one of the single-byte messages of a sequencer's clock.
  @_noLocks @_noAllocation
  public static func isClock(_ status: UInt8) -> Bool {
    status == clock || status == start || status == resume || status == stop
  }

  /// Returns whether `status` belongs to messages that arrive all the time, or that no key or knob sends:
  /// clock, active sensing, time code, song position, tune request, reset.
  @_noLocks @_noAllocation
  public static func isTicking(_ status: UInt8) -> Bool {
    (0xF1...0xF6).contains(status) || status == clock || status >= 0xFD || status == 0xF9
  }
}

/// A cycle's MIDI events, sorted by frame as JACK demands. Events at the same frame keep their order.
public struct MIDIEvents: BitwiseCopyable {
  /// The greatest number of events in a cycle. 8192 frames at 44.1 kHz and 999 BPM hold 297 clocks at 96 a
  /// beat. The rest is for commands, and for clocks that catch up after lost cycles.
  public static var capacity: Int { 384 }

  public private(set) var count = 0
  /// The number of events for which there was no room.
  public private(set) var dropped = 0
  @usableFromInline var slots = InlineArray<384, MIDIEvent>(repeating: MIDIEvent(frame: 0, status: 0))

  public init() {}

  var hasRoom: Bool { count < Self.capacity }

  /// The event at `index`, which must be below `count`.
  public subscript(index: Int) -> MIDIEvent {
    @inlinable @_noLocks @_noAllocation get { slots[index] }
  }

  @_noLocks @_noAllocation
  public mutating func removeAll() {
    count = 0
    dropped = 0
  }

  public mutating func insert(_ event: MIDIEvent) {
    guard count < Self.capacity else {
      dropped += 1
      return
    }
    var place = count
    while place > 0 && slots[place - 1].frame > event.frame {
      slots[place] = slots[place - 1]
      place -= 1
    }
    slots[place] = event
    count += 1
  }
}
