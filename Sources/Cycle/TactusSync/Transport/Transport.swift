// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath

/// The limits that hold for all requests to JACK's transport.
public enum TransportLimits {
  /// The time within which JACK shows the result of a request: two cycles, and the control thread's delay on
  /// a busy machine. A request whose result JACK has not shown by then has failed.
  public static var answerTimeout: Micros { @_noLocks @_noAllocation get { Micros(500_000) } }
  static var answerMicros: Double { Double(answerTimeout.count) }
  /// The microseconds by which the control thread may ask JACK later than planned. The thread looks at the
  /// time at least this often.
  static let askingMicros = 4_000.0
  /// The number of times that a failed start or locate is tried again, each time at the next beat or bar.
  /// After that we give up and say so.
  static let mostRetries = 2
  /// The least time between two locates, in microseconds: all clients seek to each place. After two locates
  /// one cycle apart, Ardour 8.12's process thread dies on PipeWire, and Ardour is silent until it is opened
  /// again.
  static let pause = 150_000.0
}

/// JACK's transport in this cycle.
public struct Transport: Sendable, BitwiseCopyable {
  public enum State: UInt8, Sendable, BitwiseCopyable {
    case stopped
    /// Play was pressed, and slow clients are still getting ready. JACK's state "net starting" counts as
    /// starting, too.
    case starting
    /// The transport rolls. JACK's state "looping" counts as rolling, too.
    case rolling
  }

  public var state: State
  /// The transport's frame at frame 0 of this cycle.
  public var frame: UInt32
  /// The position that the timebase master shows for this cycle.
  public var bbt: BBT?
  /// The number of frames by which another client's position in `bbt` is old: PipeWire shows the position
  /// that was written for the cycle before (facts: jack 1).
  public var bbtAge: UInt32
  /// The number of frames by which the first rolling cycle will be ahead of `frame`; 0 while the transport
  /// rolls.
  var skip: UInt32 = 0

  @_noLocks @_noAllocation
  public init(state: State, frame: UInt32, bbt: BBT? = nil, bbtAge: UInt32 = 0) {
    self.state = state
    self.frame = frame
    self.bbt = bbt
    self.bbtAge = bbtAge
  }
}
