// SPDX-License-Identifier: GPL-2.0-or-later

/// The handshake that turns a request into a WebSocket (RFC 6455, section 4.2).
enum Handshake {
  static func isAsked(_ request: Request) -> Bool {
    request.headers["upgrade", default: ""].lowercased().split(separator: ",").contains {
      $0.filter { $0 != " " } == "websocket"
    }
  }

  /// The value of `Sec-WebSocket-Accept`; nil: the request is not a valid handshake.
  static func accept(_ request: Request) -> String? {
    let wishes = request.headers["connection", default: ""].lowercased().split(separator: ",")
    guard request.method == "GET", request.version == "HTTP/1.1",
      request.headers["sec-websocket-version"] == "13",
      wishes.contains(where: { $0.filter { $0 != " " } == "upgrade" }),
      let key = request.headers["sec-websocket-key"], isKey(key)
    else { return nil }
    return base64(sha1(Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)))
  }

  /// Whether a text is sixteen bytes in base 64.
  private static func isKey(_ text: String) -> Bool {
    let letters = Array(text.utf8)
    return letters.count == 24 && letters.suffix(2).elementsEqual("==".utf8)
      && letters.prefix(22).allSatisfy { digits.contains($0) }
  }

  private static let digits = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  static func base64(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let part = bytes[start..<min(start + 3, bytes.count)]
      var word: UInt32 = 0
      for (index, byte) in part.enumerated() { word |= UInt32(byte) << UInt32(16 - 8 * index) }
      for index in 0..<4 {
        text.append(
          index <= part.count ? digits[Int(word >> UInt32(18 - 6 * index) & 63)] : UInt8(ascii: "="))
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// The hash SHA-1 (FIPS 180-4). It keeps no secret here: it only shows that the server meant to accept a
  /// WebSocket.
  static func sha1(_ message: [UInt8]) -> [UInt8] {
    var state: [UInt32] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0]
    var padded = message + [0x80]
    padded += [UInt8](repeating: 0, count: (120 - padded.count % 64) % 64)
    padded += withUnsafeBytes(of: UInt64(message.count * 8).bigEndian) { Array($0) }
    for start in stride(from: 0, to: padded.count, by: 64) { mix(padded[start..<start + 64], into: &state) }
    return state.flatMap { word in withUnsafeBytes(of: word.bigEndian) { Array($0) } }
  }

  private static func mix(_ block: ArraySlice<UInt8>, into state: inout [UInt32]) {
    func rotated(_ word: UInt32, _ count: UInt32) -> UInt32 { word << count | word >> (32 - count) }
    var words: [UInt32] = stride(from: block.startIndex, to: block.endIndex, by: 4).map { index in
      block[index..<index + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }
    for index in 16..<80 {
      words.append(rotated(words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16], 1))
    }
    var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
    for (index, word) in words.enumerated() {
      let (choice, constant): (UInt32, UInt32) =
        switch index {
        case 0..<20: (b & c | ~b & d, 0x5a82_7999)
        case 20..<40: (b ^ c ^ d, 0x6ed9_eba1)
        case 40..<60: (b & c | b & d | c & d, 0x8f1b_bcdc)
        default: (b ^ c ^ d, 0xca62_c1d6)
        }
      (a, b, c, d, e) = (rotated(a, 5) &+ choice &+ e &+ constant &+ word, a, rotated(b, 30), c, d)
    }
    for (index, word) in [a, b, c, d, e].enumerated() { state[index] &+= word }
  }
}
