// SPDX-License-Identifier: GPL-2.0-or-later

/// The number of timecode frames in a second, and their numbering.
public enum TimecodeRate: UInt8, Sendable, BitwiseCopyable {
  /// The rate of film.
  case fps24
  case fps25
  /// 30000/1001 frames a second, numbered so that an hour of timecode takes an hour: in each minute except
  /// every tenth, the first two numbers are left out.
  case drop2997
  /// 30000/1001 frames a second, with all numbers: an hour of timecode takes 3.6 seconds longer than an hour.
  case fps2997
  case fps30

  /// How many different frame numbers a second has.
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

  /// The number of frames in a day, after which the count begins again.
  public var framesPerDay: Int64 {
    @_noLocks @_noAllocation get { numbers &* 86_400 &- (isDrop ? 2 &* 9 &* 6 &* 24 : 0) }
  }
}

/// A timecode frame's number as people read it, such as 01:00:00:00.
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

  /// The code of frame `count` of a day. A count below 0 or beyond the day wraps.
  @_noLocks @_noAllocation
  public init(frame count: Int64, _ rate: TimecodeRate) {
    let remainder = count % rate.framesPerDay
    var number = remainder < 0 ? remainder &+ rate.framesPerDay : remainder
    if rate.isDrop {
      // Ten minutes have 17982 frames: the first minute has 1800, each of the others 1798.
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

  /// The number of this code's frame in the day. If the rate leaves out the code or does not have it, the
  /// next existing frame counts.
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
  /// Returns whether a frame has this code.
  public func exists(at rate: TimecodeRate) -> Bool { self == Timecode(frame: frame(rate), rate) }
}

/// The settings of timecode that follows the transport.
public struct TimecodeSettings: Hashable, Sendable, BitwiseCopyable {
  public var rate = TimecodeRate.fps25
  /// The code at the transport's frame 0.
  public var start = Timecode()
  /// The level of LTC, as a share of full scale, which is the maximum of a sound card's output.
  public var level: Float = 0.5

  @_noLocks @_noAllocation
  public init() {}
}
