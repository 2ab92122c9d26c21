// SPDX-License-Identifier: GPL-2.0-or-later
import TactusQRCode
import Testing

@Suite("QR codes")
struct QRCodeTests {
  /// Whether the code has one of the three large squares, which mark the corners of every code, at this
  /// place.
  private func hasCorner(_ code: QRCode, row: Int, column: Int) -> Bool {
    (0..<7).allSatisfy { y in
      (0..<7).allSatisfy { x in
        let ring = max(abs(x - 3), abs(y - 3))
        return code.isDark(row: row + y, column: column + x) == (ring != 2)
      }
    }
  }

  @Test(arguments: ["http://192.168.7.20:20880/#K7QM3XPA9BCDEFGH", "a", String(repeating: "x", count: 512)])
  func `a QR code has its three corner marks, and a light border`(text: String) throws {
    let code = try #require(QRCode(text))
    #expect(hasCorner(code, row: 0, column: 0))
    #expect(hasCorner(code, row: 0, column: code.size - 7))
    #expect(hasCorner(code, row: code.size - 7, column: 0))
    for place in [-1, code.size, .min, .max] {
      #expect(!code.isDark(row: place, column: 0) && !code.isDark(row: 0, column: place))
    }
  }

  @Test
  func `the longest IPv4 page address fits as a QR code into 80x24 characters`() {
    #expect(QRCode("http://192.168.100.100:20880/#K7QM3XPA9BCDEFGH")?.size == 29)
  }

  @Test(arguments: ["", "a\0b", String(repeating: "x", count: 513)])
  func `a text that is empty, too long or has a NUL gives no QR code`(text: String) {
    #expect(QRCode(text) == nil)
  }
}
