// SPDX-License-Identifier: GPL-2.0-or-later

/// How many frames of timecode a second has, and how they are counted.
public enum TimecodeRate: UInt8, Sendable, BitwiseCopyable {
  /// Film.
  case fps24
  case fps25
  /// 30000/1001 frames a second, which are numbered so that an hour of them is an hour: of each minute but every tenth, the first
  /// two numbers are left out.
  case drop2997
  /// The same frames, all numbers counted: an hour of them takes 3.6 seconds longer.
  case fps2997
  case fps30

  /// Numbers in a second.
  public var numbers: Int64 {
    @_noLocks @_noAllocation get {
      switch self {
      case .fps24: 24
      case .fps25: 25
      case .drop2997, .fps2997, .fps30: 30
      }
    }
  }

  public var isDrop: Bool { @_noLocks @_noAllocation get { self == .drop2997 } }

  public var framesPerSecond: Double {
    @_noLocks @_noAllocation get {
      switch self {
      case .fps24, .fps25, .fps30: Double(numbers)
      case .drop2997, .fps2997: 30_000 / 1_001
      }
    }
  }

  /// Until the count begins again.
  public var framesPerDay: Int64 {
    @_noLocks @_noAllocation get { numbers &* 86_400 &- (isDrop ? 2 &* 9 &* 6 &* 24 : 0) }
  }
}

/// A frame's number as people read it: 01:00:00:00.
public struct Timecode: Hashable, Sendable, BitwiseCopyable {
  public var hours: UInt8
  public var minutes: UInt8
  public var seconds: UInt8
  public var frames: UInt8

  @_noLocks @_noAllocation
  public init(hours: UInt8 = 0, minutes: UInt8 = 0, seconds: UInt8 = 0, frames: UInt8 = 0) {
    self.hours = hours
    self.minutes = minutes
    self.seconds = seconds
    self.frames = frames
  }

  /// Frame `count` of a day, or of another day.
  @_noLocks @_noAllocation
  public init(frame count: Int64, _ rate: TimecodeRate) {
    let remainder = count % rate.framesPerDay
    var number = remainder < 0 ? remainder &+ rate.framesPerDay : remainder
    if rate.isDrop {
      // Ten minutes have 17982 frames: the first of them 1800, the others 1798 each.
      let tens = number / 17_982
      let rest = number % 17_982
      number = number &+ 18 &* tens &+ (rest < 2 ? 0 : 2 &* ((rest &- 2) / 1_798))
    }
    let second = number / rate.numbers
    self.init(
      hours: UInt8(truncatingIfNeeded: second / 3_600), minutes: UInt8(truncatingIfNeeded: second / 60 % 60),
      seconds: UInt8(truncatingIfNeeded: second % 60),
      frames: UInt8(truncatingIfNeeded: number % rate.numbers))
  }

  /// Which frame of the day it is. A number that the rate leaves out, or has not, is the next that it has.
  @_noLocks @_noAllocation
  public func frame(_ rate: TimecodeRate) -> Int64 {
    let minute = Int64(hours) &* 60 &+ Int64(minutes)
    var within = min(Int64(frames), rate.numbers &- 1)
    if rate.isDrop, seconds == 0, minutes % 10 != 0 { within = max(2, within) }
    let number = (minute &* 60 &+ Int64(seconds)) &* rate.numbers &+ within
    return rate.isDrop ? number &- 2 &* (minute &- minute / 10) : number
  }
}

extension Timecode {
  /// Whether a frame has this number.
  public func exists(at rate: TimecodeRate) -> Bool { self == Timecode(frame: frame(rate), rate) }
}

/// Timecode that follows the transport.
public struct TimecodeSettings: Hashable, Sendable, BitwiseCopyable {
  public var rate = TimecodeRate.fps25
  /// What is shown at the transport's start.
  public var start = Timecode()
  /// Of 1, which is what a sound card's output can do; of LTC.
  public var level: Float = 0.5

  @_noLocks @_noAllocation
  public init() {}
}
