// SPDX-License-Identifier: GPL-2.0-or-later

/// JACK's transport as it is for this whole cycle.
public struct Transport: Sendable, BitwiseCopyable {
  public enum State: UInt8, Sendable, BitwiseCopyable {
    case stopped
    /// Play was pressed; slow clients are still getting ready. JACK's "net starting" counts too.
    case starting
    /// JACK's "looping" counts too.
    case rolling
  }

  public var state: State
  /// The transport's frame at frame 0 of this cycle.
  public var frame: UInt32
  /// The position that the timebase master shows for this cycle.
  public var bbt: BBT?
  /// Frames by which another client's `bbt` is old: PipeWire shows the position that was written for the last
  /// cycle (facts: jack 1).
  public var bbtAge: UInt32
  /// Frames by which the first rolling cycle will be ahead of `frame`; 0 while the transport rolls.
  var skip: UInt32 = 0

  @_noLocks @_noAllocation
  public init(state: State, frame: UInt32, bbt: BBT? = nil, bbtAge: UInt32 = 0) {
    self.state = state
    self.frame = frame
    self.bbt = bbt
    self.bbtAge = bbtAge
  }
}
