// SPDX-License-Identifier: GPL-2.0-or-later
import TactusOSC
import TactusTestSupport
import Testing

@testable import TactusWeb

@Suite("Messages as lines of JSON")
struct CodecTests {
  private func message(_ text: String) -> Message? { try? JSONLine.message(text.utf8) }

  @Test
  func `a line of JSON becomes the OSC message that it shows`() {
    #expect(message("[\"/tactus/tempo\", 128]") == Message("/tactus/tempo", .int32(128)))
    #expect(
      message(" [ \"/a\" ,true,false , null,\"x\\u00e9\\n\\ud83c\\udfb5\\/\",-0,1e2,0.5 ] \r")
        == Message(
          "/a", .truth(true), .truth(false), .null, .string("xé\n🎵/"), .int32(0), .float64(100), .float64(0.5)
        ))
    #expect(message("[\"/a\",2147483648]") == Message("/a", .int64(2_147_483_648)))
    #expect(message("[\"/a\",92233720368547758080]") == Message("/a", .float64(92_233_720_368_547_758_080)))
    #expect(message("[\"/a\"]") == Message("/a"))
  }

  @Test(arguments: [
    "", "[", "[]", "{}", "128", "[128]", "[\"a\"]", "[\"/a\",]", "[\"/a\" 1]", "[\"/a\",01]", "[\"/a\",1.]",
    "[\"/a\",.5]", "[\"/a\",+1]", "[\"/a\",1e]", "[\"/a\",1e999]", "[\"/a\",NaN]", "[\"/a\",[1]]",
    "[\"/a\",{}]",
    "[\"/a\",tru]", "[\"/a\",\"x]", "[\"/a\",\"\\x\"]", "[\"/a\",\"\\ud83c\"]", "[\"/a\",\"\\u0000\"]",
    "[\"/a\",\"\t\"]", "[\"/a b\"]", "[\"/\u{e9}\"]", "[\"/a\"] 1", "[\"/a\"]]", "['/a']", "[\"/a\",0x10]",
    "[\"/a\",\"\\ud83c\\u0041\"]",
    // JSON5 allows these texts; JSON does not.
    "[\"/a\"/**/]", "[\"/a\"] // end", "[\"/a\",'x']", "[\"/a\",\"\\v\"]", "[\"/a\",\"\\'\"]",
    "[\"/a\",\"x\\\ny\"]", "[\"/a\",\u{a0}1]", "[\"/a\",Infinity]", "[\"/a\",-.5]", "[\"/a\",1.e2]",
    "[\"/a\",-0x1]", "[\"/a\",\"x\u{1f}\"]", "[\"/a\",a]", "[\"/a\",{b:1}]", "[,\"/a\"]",
  ])
  func `text that is not an OSC message in JSON is refused`(_ text: String) {
    #expect(message(text) == nil)
  }

  @Test
  func `a JSON line has no more arguments than an OSC packet may have`() {
    let many = String(repeating: ",1", count: 64)
    #expect(message("[\"/a\"\(many)]")?.arguments.count == 64 && message("[\"/a\"\(many),1]") == nil)
    let long = "/" + String(repeating: "a", count: 254)
    #expect(message("[\"\(long)\"]") != nil && message("[\"\(long)a\"]") == nil)
  }

  @Test
  func `JSON numbers have the fewest digits; values that JSON lacks are null`() {
    let message = Message(
      "/a", .float32(0.1), .float32(120), .float64(.nan), .float32(.infinity), .int64(1 << 40), .impulse,
      .null,
      .truth(true), .string("\"\u{1}"))
    #expect(
      JSONLine.text(message) == "[\"/a\",0.1,120,null,null,1099511627776,null,null,true,\"\\\"\\u0001\"]")
  }

  @Test
  func `any bytes are an error or a message that encodes and decodes equal`() {
    var dice = Dice(seed: 7)
    let words = [
      "[", "]", "\"/tactus/tempo\"", "\"/", ",", "1", "-", ".5", "e9", "\"", "\\u", "d83c", "\\", "null",
      "true",
      " ", "\n", "{", "\u{7f}", "é",
    ]
    var messages = 0
    for _ in 0..<50_000 {
      var bytes: [UInt8] = []
      if Bool.random(using: &dice) { bytes += Array("[\"/a\",".utf8) }
      for _ in 0..<Int.random(in: 0..<12, using: &dice) {
        bytes += Array(words.randomElement(using: &dice)!.utf8)
      }
      if Bool.random(using: &dice) { bytes.append(UInt8(ascii: "]")) }
      if Int.random(in: 0..<4, using: &dice) == 0, !bytes.isEmpty {
        bytes[Int.random(in: 0..<bytes.count, using: &dice)] = UInt8.random(in: 0...255, using: &dice)
      }
      guard let message = try? JSONLine.message(bytes) else { continue }
      messages += 1
      let packet = LibloCodec.encode(message)
      let back = packet.withUnsafeBytes { try? LibloCodec.messages(in: $0) }
      #expect(back == [message], "\(String(decoding: bytes, as: UTF8.self))")
      #expect((try? JSONLine.message(JSONLine.text(message).utf8))?.address == message.address)
    }
    #expect(messages > 200)
  }
}

@Suite("The WebSocket handshake")
struct HandshakeTests {
  @Test
  func `SHA-1 matches the examples of its standard, and base 64 works`() {
    func hex(_ text: String) -> String {
      Handshake.sha1(Array(text.utf8)).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
        .joined()
    }
    #expect(hex("abc") == "a9993e364706816aba3e25717850c26c9cd0d89d")
    #expect(hex("") == "da39a3ee5e6b4b0d3255bfef95601890afd80709")
    #expect(
      hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")
        == "84983e441c3bd26ebaae4aa1f95129e5e54670f1")
    #expect(hex(String(repeating: "a", count: 1000)) == "291e9a6c66994949b57ba5e650361e98fc36b1ba")
    #expect(
      Handshake.base64([]) == "" && Handshake.base64([77]) == "TQ=="
        && Handshake.base64([77, 97, 110]) == "TWFu")
  }

  @Test
  func `a valid WebSocket key gets the standard's answer, an invalid one none`() {
    var request = Request()
    for (name, value) in [
      ("Connection", "keep-alive, Upgrade"), ("Upgrade", "WebSocket"), ("Sec-WebSocket-Version", "13"),
      ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ] {
      #expect(Handshake.accept(request) == nil)
      request.add(header: name, value)
    }
    #expect(Handshake.isAsked(request) && Handshake.accept(request) == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    for (name, value) in [
      ("sec-websocket-version", "8"), ("sec-websocket-key", "short=="), ("connection", "close"),
      ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZ===="),
    ] {
      var other = request
      other.add(header: name, value)
      #expect(Handshake.accept(other) == nil)
    }
    request.method = "POST"
    #expect(Handshake.accept(request) == nil)
  }
}

@Suite("The target of a request")
struct RequestTests {
  @Test
  func `a page of another site cannot send requests through a browser`() {
    for (host, isForUs) in [
      ("localhost:8080", true), ("192.168.1.2:1", true), ("[::1]:1", true), ("studio.local", true),
      ("Studio", true), ("studio.lan:80", true), ("evil.example:80", false), ("", false), (":80", false),
      ("evil", false),
      ("[::1]", true), ("[::1].evil.example", false), ("[::1]:evil", false),
      ("[evil]", false), ("localhost:80:80", false),
      ("wpad:8080", false), ("evil.local", false), ("studio.evil.example", false), ("studio.", false),
      ("192.168.1.3:1", false), ("127.0.0.1:9", true), ("203.0.113.7", false),
    ] {
      let request = Request(host: host, reached: .v4(0xc0a8_0102))
      #expect(request.isFor("studio.lan") == isForUs, "\(host)")
    }
  }

  @Test
  func `an absolute URI in an HTTP request gives the path and the host`() {
    for (uri, authority, path) in [
      ("http://localhost:8080/tactus/tempo", "localhost:8080", "/tactus/tempo"),
      ("HTTP://[::1]:80", "[::1]:80", "/"),
      ("http://studio", "studio", "/"), ("/http://evil", nil, "/http://evil"),
    ] as [(String, String?, String)] {
      let target = Request.target(uri)
      #expect(target?.authority == authority && target?.path == path, "\(uri)")
    }
    #expect(Request.target("http://") == nil && Request.target("*") == nil && Request.target("") == nil)
  }

  @Test
  func `a page's origin must match exactly; our cookie is found among others`() {
    var request = Request(host: "localhost:20880")
    #expect(request.isFromOurPage && !request.namesOrigin)
    for (origin, isOurs) in [
      ("http://localhost:20880", true), ("https://localhost:20880", false), ("http://localhost", false),
      ("null", false),
      ("http://localhost:20880.evil.example", false), ("", false),
    ] {
      request.add(header: "Origin", origin)
      #expect(request.isFromOurPage == isOurs, "\(origin)")
    }
    for (cookie, token) in [
      ("tactus-K7QM3X=abc", "abc"), ("a=b; tactus-K7QM3X=abc; c=d", "abc"),
      // There may be two tactus of two users on one machine: the browser then sends both cookies.
      ("tactus-0BCDEF=def; tactus-K7QM3X=abc", "abc"), ("tactus-K7QM3X=abc; tactus-K7QM3X=def", "abc"),
      ("tactus-0BCDEF=def", nil), ("xtactus-K7QM3X=abc", nil), ("tactus-K7QM3X", nil), ("tactus=abc", nil),
      ("", nil),
    ] as [(String, Substring?)] {
      request.add(header: "Cookie", cookie)
      #expect(request.cookie("tactus-K7QM3X") == token, "\(cookie)")
      #expect(request.showsCookie == cookie.contains("tactus-"), "\(cookie)")
    }
  }
}
