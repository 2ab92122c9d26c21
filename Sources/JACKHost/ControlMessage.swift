// SPDX-License-Identifier: GPL-2.0-or-later

/// A MIDI message that came in through `control`.
public struct ControlMessage: Sendable, BitwiseCopyable {
  /// 1...3.
  public var count: UInt8 = 0
  public var bytes: (UInt8, UInt8, UInt8) = (0, 0, 0)

  @_noLocks @_noAllocation
  init() {}
}

extension ControlMessage {
  private static let start: UInt8 = 0xFA
  private static let resume: UInt8 = 0xFB
  private static let stop: UInt8 = 0xFC

  /// What a sequencer's or a controller's transport keys ask of ours. What is so already is not asked for again: a
  /// device that sends our own clock back can't start anything twice.
  public func transportCommands(isRunning: Bool) -> [TransportCommand] {
    switch bytes.0 {
    case Self.start: isRunning ? [] : [.locate(frame: 0), .play]
    case Self.resume: isRunning ? [] : [.play]
    case Self.stop: isRunning ? [.stop] : []
    default: []
    }
  }
}
