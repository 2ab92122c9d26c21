// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Glibc

/// OSCQuery over HTTP/1.1, on the surface's own thread: it never waits for a client.
final class QueryServer {
  static let connectionLimit = 16
  static let idleLimit = Micros(30_000_000)
  /// What a client may leave unread before it is let go.
  static let unreadLimit = 1 << 20

  let endpoint: Endpoint
  private let listener: Int32
  private let tree: QueryTree
  private let settings: SurfaceSettings
  private var connections: [Connection] = []

  private struct Connection {
    let descriptor: Int32
    var input: [UInt8] = []
    var output: [UInt8] = []
    var written = 0
    var isEnding = false
    var active: Micros
  }

  init(_ wanted: Endpoint, settings: SurfaceSettings) throws(OpenFailure) {
    listener = try openSocket(wanted, SOCK_STREAM)
    setOption(listener, SOL_SOCKET, SO_REUSEADDR, 1)
    do throws(OpenFailure) {
      endpoint = try bindSocket(listener, to: wanted)
      guard listen(listener, 16) == 0 else {
        throw OpenFailure(endpoint: wanted, call: "listen", code: errno)
      }
    } catch {
      close(listener)
      throw error
    }
    self.settings = settings
    tree = QueryTree(root: settings.root, osc: settings.listen[0])
  }

  deinit {
    close(listener)
    for connection in connections { close(connection.descriptor) }
  }

  func watch(_ watched: inout [pollfd]) {
    watched.append(pollfd(fd: listener, events: Int16(POLLIN), revents: 0))
    for connection in connections {
      let events = connection.written < connection.output.count ? POLLOUT : POLLIN
      watched.append(pollfd(fd: connection.descriptor, events: Int16(events), revents: 0))
    }
  }

  func serve(_ reading: Reading) {
    let now = Clocks.read().host
    accept(at: now)
    for index in connections.indices.reversed() where !serve(&connections[index], reading, at: now) {
      close(connections[index].descriptor)
      connections.remove(at: index)
    }
  }

  private func accept(at now: Micros) {
    for _ in 0..<Self.connectionLimit {
      var address = sockaddr_storage()
      var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
      let descriptor = withUnsafeMutableBytes(of: &address) { raw in
        Glibc.accept(listener, raw.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
      }
      guard descriptor >= 0 else { return }
      setNonBlocking(descriptor)
      guard connections.count < Self.connectionLimit, let source = Endpoint(address),
        settings.allows(source.host)
      else {
        close(descriptor)
        continue
      }
      connections.append(Connection(descriptor: descriptor, active: now))
    }
  }

  /// false: it is to be closed.
  private func serve(_ connection: inout Connection, _ reading: Reading, at now: Micros) -> Bool {
    var chunk = [UInt8](repeating: 0, count: 4096)
    if connection.output.isEmpty, !connection.isEnding {
      let count = recv(connection.descriptor, &chunk, chunk.count, 0)
      if count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR) { return false }
      if count > 0 {
        connection.input += chunk[..<count]
        connection.active = now
      }
      answerRequests(&connection, reading)
    }
    if connection.written < connection.output.count {
      let sent = connection.output.withUnsafeBytes { raw in
        send(
          connection.descriptor, raw.baseAddress?.advanced(by: connection.written),
          raw.count - connection.written, Int32(MSG_NOSIGNAL))
      }
      if sent < 0, errno != EAGAIN, errno != EINTR { return false }
      if sent > 0 {
        connection.written += sent
        connection.active = now
      }
    }
    if connection.written == connection.output.count {
      connection.output = []
      connection.written = 0
      if connection.isEnding { return false }
    }
    return now - connection.active < Self.idleLimit
  }

  private func answerRequests(_ connection: inout Connection, _ reading: Reading) {
    while !connection.isEnding, connection.output.count < Self.unreadLimit {
      switch HTTPRequest.read(connection.input) {
      case .incomplete: return
      case .bad(let status):
        connection.output += response(QueryTree.Answer(status: status), hasBody: true, keepsAlive: false)
        connection.isEnding = true
      case .request(let request, let length):
        connection.input.removeFirst(length)
        connection.isEnding = !request.keepsAlive
        connection.output += response(
          answer(request, reading), hasBody: request.method != "HEAD", keepsAlive: request.keepsAlive)
      }
    }
  }

  private func answer(_ request: HTTPRequest, _ reading: Reading) -> QueryTree.Answer {
    guard request.method == "GET" || request.method == "HEAD" else { return QueryTree.Answer(status: 405) }
    guard request.isForUs else { return QueryTree.Answer(status: 403) }
    return tree.answer(path: request.path, query: request.query, reading)
  }

  private func response(_ answer: QueryTree.Answer, hasBody: Bool, keepsAlive: Bool) -> [UInt8] {
    let reasons = [
      200: "OK", 204: "No Content", 400: "Bad Request", 403: "Forbidden", 404: "Not Found",
      405: "Method Not Allowed",
      413: "Content Too Large", 431: "Request Header Fields Too Large",
    ]
    var head = "HTTP/1.1 \(answer.status) \(reasons[answer.status] ?? "Error")\r\n"
    if answer.status == 405 { head += "Allow: GET, HEAD\r\n" }
    if answer.status != 204 {
      head += "Content-Type: \(answer.type)\r\nContent-Length: \(answer.body.utf8.count)\r\n"
    }
    head += "Cache-Control: no-store\r\nConnection: \(keepsAlive ? "keep-alive" : "close")\r\n\r\n"
    return Array(head.utf8) + (hasBody && answer.status != 204 ? Array(answer.body.utf8) : [])
  }
}
