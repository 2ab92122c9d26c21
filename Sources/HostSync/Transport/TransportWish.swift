// SPDX-License-Identifier: GPL-2.0-or-later

/// Where the audio thread wants the transport to be. It cannot ask JACK itself (a lock on PipeWire); the control
/// thread reads this in the report and does it, once for each number.
public struct TransportWish: Sendable, BitwiseCopyable {
  /// The transport must still be in this state, or the wish is void: somebody was faster.
  public enum Condition: UInt8, Sendable, BitwiseCopyable {
    case none
    case starting
    case stopped
  }

  public var condition = Condition.none
  /// Its beat is what JACK shows everybody until the timebase master has spoken.
  public var place = SongPlace()
  /// Where the transport must still stand, too.
  public var from: UInt32 = 0
  /// A late start may already have rolled this many frames past `from`; 0: it must still be waiting.
  public var reach: UInt32 = 0
  /// When it was wished for, in what is heard: another moment, another wish.
  var moment = -1e18
  public var number: UInt32 = 0

  init() {}

  init(_ place: SongPlace, from: UInt32, reach: UInt32 = 0, if condition: Condition, at moment: Double) {
    self.place = place
    self.from = from
    self.reach = reach
    self.condition = condition
    self.moment = moment
  }

  /// Whether the transport is still where and as it was.
  public func isOpen(_ state: Transport.State, at frame: UInt32) -> Bool {
    switch (condition, state) {
    case (.starting, .starting), (.stopped, .stopped): frame == from
    case (.starting, .rolling): reach > 0 && frame &- from <= reach
    default: false
    }
  }

  /// What is wanted now; nil: nothing.
  mutating func follow(_ wanted: TransportWish?) {
    guard var wanted else {
      condition = .none
      return
    }
    wanted.number = wanted.moment == moment ? number : number &+ 1
    self = wanted
  }
}
