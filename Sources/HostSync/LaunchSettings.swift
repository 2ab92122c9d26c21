// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath

/// How starts are quantised.
public struct LaunchSettings: Hashable, Sendable, BitwiseCopyable {
  public enum Mode: UInt8, Sendable, BitwiseCopyable {
    /// On the session's next quantum boundary.
    case bar
    case beat
    case now
  }

  /// How near to its beat the song's start position is heard.
  public enum Alignment: UInt8, Sendable, BitwiseCopyable {
    /// In the nearest cycle: at most half a period off.
    case nearest
    /// To the frame: the transport is sent back by less than a period first. A boundary that is too near for that is
    /// left for the next. Not from the song's first period, which has no room before it: that starts as `nearest` does.
    case exact
  }

  public var mode = Mode.bar
  public var alignment = Alignment.nearest
  /// A transport that waits longer looks broken; and JACK's own timeout must be longer.
  public var longestWait = Micros(30_000_000)

  public static var longestWaitAllowed: Micros {
    @_noLocks @_noAllocation get { Micros(60_000_000) }
  }

  @_noLocks @_noAllocation
  public init() {}

  @_noLocks @_noAllocation
  public static func == (left: LaunchSettings, right: LaunchSettings) -> Bool {
    left.mode == right.mode && left.alignment == right.alignment && left.longestWait == right.longestWait
  }

  func step(quantum: Beats) -> Beats {
    switch mode {
    case .bar: quantum
    case .beat: Beats(micros: 1_000_000)
    case .now: .zero
    }
  }
}
