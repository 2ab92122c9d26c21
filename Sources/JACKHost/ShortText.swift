// SPDX-License-Identifier: GPL-2.0-or-later

/// A few words from a C string, held without a heap, so that they can cross threads. Longer ones are cut.
struct ShortText: BitwiseCopyable, Sendable, CustomStringConvertible {
  static let limit = 120

  private var bytes = InlineArray<120, UInt8>(repeating: 0)
  private var count = 0

  init() {}

  init(_ text: UnsafePointer<CChar>?) {
    guard let text else { return }
    while count < Self.limit, text[count] != 0 {
      bytes[count] = UInt8(bitPattern: text[count])
      count += 1
    }
  }

  var description: String {
    var text: [UInt8] = []
    for index in 0..<count { text.append(bytes[index]) }
    return String(decoding: text, as: UTF8.self)
  }
}
