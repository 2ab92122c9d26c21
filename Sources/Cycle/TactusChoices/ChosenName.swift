// SPDX-License-Identifier: GPL-2.0-or-later

/// A name that the user chooses. If it is empty, tactus finds a name itself.
public struct ChosenName: Sendable, BitwiseCopyable {
  public static var longest: Int { 64 }

  private var bytes = InlineArray<64, UInt8>(repeating: 0)
  public private(set) var count = 0

  public init() {}

  /// nil if `text` is too long.
  public init?(_ text: some Sequence<UInt8>) {
    // `count` must not grow in the loop: in optimised code of Swift 6.3.1, `count` would stay 0.
    var place = 0
    for byte in text {
      guard place < Self.longest else { return nil }
      bytes[place] = byte
      place += 1
    }
    count = place
  }

  public var isEmpty: Bool { count == 0 }

  /// - Parameter place: the index of a byte, below `count`.
  public subscript(place: Int) -> UInt8 { bytes[place] }
}

extension ChosenName: Hashable {
  public static func == (left: ChosenName, right: ChosenName) -> Bool {
    for place in left.bytes.indices where left.bytes[place] != right.bytes[place] { return false }
    return left.count == right.count
  }

  public func hash(into hasher: inout Hasher) {
    for place in 0..<count { hasher.combine(bytes[place]) }
  }
}
