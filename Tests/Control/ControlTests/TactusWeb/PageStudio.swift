// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkBeatMath
import LinkSystem
import Synchronization
import TactusOSC
import TactusSurface
import Testing

@testable import TactusWeb

/// A surface and its web server with real sockets on loopback, and a handler that accepts every command.
final class PageStudio: Sendable {
  private struct Shelf {
    var state: SurfaceState
    var orders: [Order] = []
    var notices: [Notice] = []
    var surface: OSCSurface?
    var secret = PageStudio.secret
  }

  private final class Box: Sendable {
    let shelf: Mutex<Shelf>
    init(_ state: SurfaceState) { shelf = Mutex(Shelf(state: state)) }
  }

  static let secret = Secret(code: "0123456789ABCDEF", token: "0123456789ABCDEF0123456789ABCDEF")!

  private let box: Box
  let surface: OSCSurface
  let web: Web

  init(
    _ settings: WebSettings = .page, surface listening: [Endpoint] = [Endpoint(.loopback, port: 0)],
    doctor: @escaping @Sendable () -> [UInt8]? = { nil }
  ) throws {
    let start = Timeline(tempo: Tempo(120), beatOrigin: .zero, timeOrigin: HostClock.micros())
    let box = Box(SurfaceState(timeline: start))
    self.box = box
    var surfaceSettings = SurfaceSettings()
    surfaceSettings.listen = listening
    surfaceSettings.version = "test"
    surface = try OSCSurface(
      surfaceSettings, state: box.shelf.withLock { $0.state }, notice: { _ in },
      handler: { order in
        let (state, surface) = box.shelf.withLock { shelf in
          shelf.orders.append(order)
          if case .choose(let choice, let values) = order.command {
            choice.choose(&shelf.state.choices, values)
          }
          if case .tempo(let tempo) = order.command {
            shelf.state.timeline.tempo = tempo
          }
          return (shelf.state, shelf.surface)
        }
        surface?.update { $0 = state }
        return .accepted
      })
    web = try Web(
      settings, secret: { box.shelf.withLock { $0.secret } }, surface: surface, doctor: doctor
    ) { notice in
      box.shelf.withLock { $0.notices.append(notice) }
    }
    box.shelf.withLock { [surface] in $0.surface = surface }
  }

  func close() {
    web.close()
    surface.close()
    box.shelf.withLock { $0.surface = nil }
  }

  var port: UInt16 { web.endpoints.first?.port ?? 0 }
  var commands: [Command] { box.shelf.withLock { $0.orders.map(\.command) } }
  var notices: [Notice] { box.shelf.withLock { $0.notices } }

  var currentSecret: Secret { box.shelf.withLock { $0.secret } }

  /// Replaces the secret, as `tactus web --forget` does.
  func forget() {
    var dice = SystemRandomNumberGenerator()
    box.shelf.withLock { $0.secret = Secret(using: &dice) }
  }

  func change(_ change: (inout SurfaceState) -> Void) {
    let state = box.shelf.withLock { shelf in
      change(&shelf.state)
      return shelf.state
    }
    surface.update { $0 = state }
  }

  /// Waits until the condition holds. No test judges how long this takes.
  func wait(seconds: Double = 20, until isTrue: () -> Bool) -> Bool {
    let end = ContinuousClock.now + .seconds(seconds)
    while !isTrue() {
      guard ContinuousClock.now < end else { return false }
      usleep(2000)
    }
    return true
  }
}

extension WebSettings {
  static var page: WebSettings {
    var settings = WebSettings()
    settings.listen = [Endpoint(.loopback, port: 0)]
    settings.version = "test"
    return settings
  }

  static var queryAlone: WebSettings {
    var settings = WebSettings()
    settings.query = 0
    return settings
  }
}

/// The error that a client throws if no more data arrives.
struct Silence: Error {}

/// A TCP client that uses no HTTP library.
final class Caller {
  let descriptor: Int32
  private(set) var received: [UInt8] = []
  private(set) var isEnded = false

  init(_ port: UInt16, from own: Address = .loopback, to target: Address = .loopback, seconds: Int = 20)
    throws
  {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var limit = timeval(tv_sec: seconds, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    if !own.isEvery {
      let unbound = Endpoint(own, port: 0).withSocketAddress { bind(descriptor, $0, $1) }
      try #require(unbound == 0)
    }
    let failed = Endpoint(target, port: port).withSocketAddress { connect(descriptor, $0, $1) }
    guard failed == 0 else { throw Silence() }
  }

  deinit { close(descriptor) }

  /// Returns the number of bytes sent.
  @discardableResult
  func send(_ bytes: [UInt8], _ flags: Int32 = 0) -> Int {
    Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL) | flags)
  }

  func send(_ text: String) { send(Array(text.utf8)) }

  /// Reads more data. Returns false at the end of the data, or if no data arrives for too long.
  func receive() -> Bool {
    var chunk = [UInt8](repeating: 0, count: 65_536)
    let count = recv(descriptor, &chunk, chunk.count, 0)
    guard count > 0 else {
      isEnded = count == 0 || errno == ECONNRESET
      return false
    }
    received += chunk[..<count]
    return true
  }

  func drop(_ count: Int) { received.removeFirst(count) }

  /// Reads one answer and returns its status, head and body.
  func answer() throws -> (status: Int, head: String, body: String) {
    let gap = Array("\r\n\r\n".utf8)
    while true {
      if let end = received.firstRange(of: gap) {
        let head = String(decoding: received[..<end.lowerBound], as: UTF8.self)
        let length =
          head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
          .flatMap { Int($0.split(separator: " ").last ?? "") } ?? 0
        if received.count >= end.upperBound + length {
          let body = String(decoding: received[end.upperBound..<end.upperBound + length], as: UTF8.self)
          drop(end.upperBound + length)
          return (Int(head.split(separator: " ").dropFirst().first ?? "") ?? 0, head, body)
        }
      }
      guard receive() else { throw Silence() }
    }
  }

  func ask(
    _ path: String, _ headers: String = "", method: String = "GET", host: String = "localhost",
    body: String = ""
  )
    throws -> (status: Int, head: String, body: String)
  {
    let length = method == "POST" ? "Content-Length: \(body.utf8.count)\r\n" : ""
    send("\(method) \(path) HTTP/1.1\r\nHost: \(host)\r\n\(headers)\(length)\r\n\(body)")
    return try answer()
  }

  /// Whether the server closes the connection.
  func isClosedByServer() -> Bool {
    while receive() {}
    return isEnded
  }
}

/// A WebSocket client that uses no library, so that it can also break the rules.
final class Phone {
  static let key = "dGhlIHNhbXBsZSBub25jZQ=="
  static let cookie = "Cookie: a=b; tactus-012345=\(PageStudio.secret.token)\r\n"
  let caller: Caller
  let head: String

  init(
    _ port: UInt16, path: String = "/osc", isPaired: Bool = true, headers: String = "",
    from own: Address = .loopback, to target: Address = .loopback
  ) throws {
    caller = try Caller(port, from: own, to: target)
    caller.send(Self.request(path, (isPaired ? Self.cookie : "") + headers))
    head = try caller.answer().head
  }

  static func request(_ path: String = "/osc", _ headers: String = "") -> String {
    "GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
      + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: \(key)\r\n\(headers)\r\n"
  }

  static func frame(_ payload: [UInt8], opcode: UInt8, isLast: Bool = true, isMasked: Bool = true) -> [UInt8]
  {
    let bit: UInt8 = isMasked ? 0x80 : 0
    var frame = [(isLast ? 0x80 : 0) | opcode]
    if payload.count < 126 {
      frame.append(bit | UInt8(payload.count))
    } else {
      frame += [bit | 126, UInt8(payload.count >> 8 & 255), UInt8(payload.count & 255)]
    }
    guard isMasked else { return frame + payload }
    let mask: [UInt8] = [1, 2, 3, 4]
    return frame + mask + payload.enumerated().map { $1 ^ mask[$0 % 4] }
  }

  func send(_ text: String) { caller.send(Self.frame(Array(text.utf8), opcode: 1)) }
  func send(_ message: Message) { caller.send(Self.frame(LibloCodec.encode(message), opcode: 2)) }

  /// Returns the next frame.
  func receive() throws -> (opcode: UInt8, payload: [UInt8]) {
    while true {
      let received = caller.received
      if received.count >= 2 {
        var (start, count) = (2, Int(received[1] & 127))
        if count == 126, received.count >= 4 {
          (start, count) = (4, Int(received[2]) << 8 | Int(received[3]))
        }
        if (count < 126 || start > 2), received.count >= start + count {
          caller.drop(start + count)
          return (received[0] & 15, Array(received[start..<start + count]))
        }
      }
      guard caller.receive() else { throw Silence() }
    }
  }

  /// Whether the server answers a ping.
  func isServed() throws -> Bool {
    send("[\"/tactus/ping\"]")
    return try line("[\"/tactus/pong\"") != nil
  }

  /// The next line that begins with this text; nil: no such line was among the next `limit` lines.
  func line(_ beginning: String, limit: Int = 3000) throws -> String? {
    for _ in 0..<limit {
      let (opcode, payload) = try receive()
      guard opcode == 1 else { continue }
      for line in String(decoding: payload, as: UTF8.self).split(separator: "\n")
      where line.hasPrefix(beginning) {
        return String(line)
      }
    }
    return nil
  }

  /// All messages up to and including `last`.
  func messages(until last: Message, limit: Int = 3000) throws -> [Message] {
    var seen: [Message] = []
    for _ in 0..<limit where seen.last != last {
      seen += try receive().payload.withUnsafeBytes { try LibloCodec.messages(in: $0) }
    }
    return seen
  }

  func message(_ address: String, limit: Int = 3000) throws -> Message? {
    for _ in 0..<limit {
      let (opcode, payload) = try receive()
      guard opcode == 2 else { continue }
      let messages = payload.withUnsafeBytes { (try? LibloCodec.messages(in: $0)) ?? [] }
      if let found = messages.first(where: { $0.address == address }) { return found }
    }
    return nil
  }

  /// The code of the close frame; nil: the connection ended without a close frame.
  func farewell() throws -> UInt16? {
    while true {
      guard let (opcode, payload) = try? receive() else { return nil }
      if opcode == 8 { return payload.count >= 2 ? UInt16(payload[0]) << 8 | UInt16(payload[1]) : nil }
    }
  }
}
