// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

/// MIDI timecode. While the transport rolls, a quarter frame message is sent at each quarter of a timecode
/// frame. Eight of these messages together give one timecode. After a locate, a full frame message is sent.
///
/// The first message of each eight comes at every second timecode frame, and the eight together give that
/// frame's timecode. When a receiver has all eight, the transport is two timecode frames further.
struct MTC: BitwiseCopyable {
  /// The least time between two full frame messages, in microseconds: a receiver cannot follow more of them.
  private static let pause: Double = 20_000

  /// The number of the next quarter frame message; nil: none was sent for the transport's present place.
  private var next: Int64?
  /// The transport's place at the end of the last buffer, in quarters of a timecode frame.
  private var end = 0.0
  /// The timecode frame that a full frame message names, while the transport stands or after a locate.
  /// `isTold`: the message was sent.
  private var standing: Int64?
  private var isTold = false
  private var sinceTold = Double.infinity

  mutating func run(
    into events: inout MIDIEvents, _ place: TimecodePlace, _ rate: TimecodeRate, _ now: inout OutputContext,
    _ missed: SkippedCycles
  ) {
    let (isRolling, isSilenced) = (now.isRolling, now.isFreewheeling)
    sinceTold += Double(missed.frames) * now.frameMicros
    let here = Int64(flooring: place.transport + 1e-6)
    let first = 4 * place.place(atFrame: -0.5)
    if isSilenced || !isRolling || abs(first - end) > 1 { next = nil }
    guard !isSilenced else {
      standing = nil
      return
    }
    if standing != here, !isRolling || next == nil {
      standing = here
      isTold = false
    }
    if !isTold {
      // No quarter frame message may come before the full frame message: a receiver would take it for a part
      // of the old timecode.
      end = 4 * place.place(atFrame: Double(place.frames) - 0.5)
      guard sinceTold >= Self.pause else { return }
      let told = isRolling ? Int64(flooring: max(place.start, place.beginning) + 1e-6) : here
      events.insert(MIDIEvent(frame: 0, locate: Timecode(frame: told, rate), rate))
      isTold = true
      sinceTold = 0
    }
    if isRolling { roll(into: &events, place, rate, from: first) }
  }

  /// Whether no message is due until the transport rolls or moves.
  var isDone: Bool { isTold && standing != nil }

  private mutating func roll(
    into events: inout MIDIEvents, _ place: TimecodePlace, _ rate: TimecodeRate, from first: Double
  ) {
    end = 4 * place.place(atFrame: Double(place.frames) - 0.5)
    // If this port is heard before the physical outputs, the port's buffer may begin before the transport's
    // frame 0.
    var quarter = next ?? (0 &- Int64(flooring: 0 - max(first, 4 * place.beginning) / 8)) &* 8
    for _ in 0..<64 {
      guard Double(quarter) < end else { break }
      let frame = Window.nearest((Double(quarter) / 4 - place.start) / place.perFrame)
      let told = Timecode(frame: Ticker.floorDivide(quarter, 8) &* 2, rate)
      events.insert(
        MIDIEvent(
          frame: UInt32(min(frame, place.frames - 1)),
          quarter: UInt8(truncatingIfNeeded: Ticker.floorRemainder(quarter, 8)), of: told, rate))
      quarter = quarter &+ 1
    }
    next = quarter
    standing = nil
  }
}

extension MIDIEvent {
  /// The quarter frame message with the number `quarter`, 0 to 7, which carries an eighth of `code`.
  init(frame: UInt32, quarter: UInt8, of code: Timecode, _ rate: TimecodeRate) {
    let value: UInt8 =
      switch quarter {
      case 0: code.frames & 0xF
      case 1: code.frames >> 4
      case 2: code.seconds & 0xF
      case 3: code.seconds >> 4
      case 4: code.minutes & 0xF
      case 5: code.minutes >> 4
      case 6: code.hours & 0xF
      default: code.hours >> 4 | rate.inMIDI << 1
      }
    self.init(frame: frame, status: MIDI.quarterFrame)
    count = 2
    data1 = quarter << 4 | value
  }

  /// A full frame message, for every device.
  init(frame: UInt32, locate code: Timecode, _ rate: TimecodeRate) {
    self.init(frame: frame, status: MIDI.exclusive)
    count = 10
    (data1, data2, data3, data4) = (rate.inMIDI << 5 | code.hours, code.minutes, code.seconds, code.frames)
  }
}

extension TimecodeRate {
  /// The number that stands for the rate in MIDI. MIDI cannot distinguish 29.97 frames without drop from 30
  /// frames.
  var inMIDI: UInt8 {
    switch self {
    case .fps24: 0
    case .fps25: 1
    case .drop2997: 2
    case .fps2997, .fps30: 3
    }
  }
}
