// SPDX-License-Identifier: GPL-2.0-or-later

/// A locate that the audio thread wants. The audio thread must not ask JACK for it, because PipeWire takes a
/// lock. So the control thread reads the action in the report and asks JACK once for each number.
public struct LocateAction: Sendable, BitwiseCopyable {
  /// The state that the transport must still be in. If it is in another state, another client was faster, and
  /// the action is void.
  public enum Condition: UInt8, Sendable, BitwiseCopyable {
    case none
    case starting
    case stopped
  }

  public var condition = Condition.none
  /// The target of the locate. JACK shows the target's beat to all clients until the timebase master has
  /// written a position.
  public var place = SongPlace()
  /// The frame at which the transport must still stand.
  public var from: UInt32 = 0
  /// The number of frames that a late start may already have rolled past `from`; 0: the transport must still
  /// be waiting.
  public var reach: UInt32 = 0
  /// The time at which the cycle is heard in which the audio thread wanted the locate. Another time means
  /// another action.
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

  /// Returns whether the transport still has the state and the frame from which the locate was wanted.
  public func isOpen(_ state: Transport.State, at frame: UInt32) -> Bool {
    switch (condition, state) {
    case (.starting, .starting), (.stopped, .stopped): frame == from
    case (.starting, .rolling): reach > 0 && frame &- from <= reach
    default: false
    }
  }

  /// Replaces the action by `wanted`. The number grows only if `wanted` is another action. nil: no locate is
  /// wanted.
  mutating func follow(_ wanted: LocateAction?) {
    guard var wanted else {
      condition = .none
      return
    }
    wanted.number = wanted.moment == moment ? number : number &+ 1
    self = wanted
  }
}
