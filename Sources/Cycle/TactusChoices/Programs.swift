// SPDX-License-Identifier: GPL-2.0-or-later

/// The programs (sounds) that a MIDI machine was asked for, one for each MIDI channel, and a count of the
/// requests. The audio thread sends the programs that it has not sent yet.
public struct Programs: Hashable, Sendable, BitwiseCopyable {
  /// The number of MIDI channels.
  public static let channels = 16

  /// The program that each channel was asked for, 0...127.
  private var numbers = SIMD16<UInt8>()
  /// The number of requests for each channel; 0: there was none. After 65535 comes 1.
  private var asked = SIMD16<UInt16>()

  @_noLocks @_noAllocation
  public init() {}

  /// Whether no program was requested on any channel.
  public var isEmpty: Bool { asked == SIMD16() }

  /// - Parameters:
  ///   - number: a MIDI program, 0...127.
  ///   - channel: a MIDI channel, 0...15.
  public mutating func ask(for number: UInt8, channel: Int) {
    let place = channel & 15
    numbers[place] = number & 0x7f
    asked[place] = asked[place] == .max ? 1 : asked[place] + 1
  }

  /// The lowest channel with a request that is not in `sent`, and the number of the requested program.
  @_noLocks @_noAllocation
  public func next(after sent: Programs) -> (channel: Int, number: UInt8)? {
    // Sixteen single comparisons would cost more than everything else that a MIDI clock does in a cycle. So
    // compare four channels at a time before that.
    guard Self.inFour(asked) != Self.inFour(sent.asked) else { return nil }
    for channel in 0..<Self.channels where asked[channel] != sent.asked[channel] && asked[channel] != 0 {
      return (channel, numbers[channel])
    }
    return nil
  }

  private static func inFour(_ counts: SIMD16<UInt16>) -> SIMD4<UInt64> {
    unsafeBitCast(counts, to: SIMD4<UInt64>.self)
  }

  /// Marks the request on this channel as sent.
  @_noLocks @_noAllocation
  public mutating func merge(_ channel: Int, from other: Programs) {
    numbers[channel & 15] = other.numbers[channel & 15]
    asked[channel & 15] = other.asked[channel & 15]
  }
}
