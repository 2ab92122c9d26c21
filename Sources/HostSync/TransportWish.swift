// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath

/// Where the audio thread wants the transport to be. It cannot ask JACK itself (a lock on PipeWire); the control
/// thread reads this in the report and does it, once for each number.
public struct TransportWish: Hashable, Sendable, BitwiseCopyable {
  /// The transport must still be in this state, or the wish is void: somebody was faster.
  public enum Condition: UInt8, Sendable, BitwiseCopyable {
    case none
    case starting
    case stopped
  }

  public var condition = Condition.none
  public var frame: UInt32 = 0
  /// Where the transport must still stand, too.
  public var from: UInt32 = 0
  /// A start that comes too late may also have rolled so many frames farther by now; 0: it must not roll.
  public var reach: UInt32 = 0
  /// The song's beat at `frame`: what JACK shows everybody until the timebase master has spoken.
  public var beat = Beats.zero
  public var number: UInt32 = 0

  init() {}

  @_noLocks @_noAllocation
  public static func == (left: TransportWish, right: TransportWish) -> Bool {
    left.condition == right.condition && left.frame == right.frame && left.from == right.from
      && left.reach == right.reach && left.beat == right.beat && left.number == right.number
  }

  /// Whether the transport is still where and as it was.
  @_noLocks @_noAllocation
  public func isOpen(_ state: Transport.State, at frame: UInt32) -> Bool {
    switch (condition, state) {
    case (.starting, .starting), (.stopped, .stopped): frame == from
    case (.starting, .rolling): reach > 0 && frame &- from <= reach
    default: false
    }
  }

  mutating func ask(
    for frame: UInt32, at beat: Beats, from: UInt32, reach: UInt32 = 0, if condition: Condition
  ) {
    self.frame = frame
    self.beat = beat
    self.from = from
    self.reach = reach
    self.condition = condition
    number &+= 1
  }

  mutating func withdraw() { condition = .none }
}

/// A frame whose place in the song is known by other means than the tempo: we sent the transport there.
struct Landmark: BitwiseCopyable {
  var frame: UInt32
  var beat: Double

  init(frame: UInt32, beat: Double) {
    self.frame = frame
    self.beat = beat
  }
}
