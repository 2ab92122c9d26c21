// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Glibc
import Linux
import OSC

/// OSCQuery over HTTP/1.1, on the surface's own thread: it never waits for a client, answers one request of each in turn, and
/// costs no more than `Cost.queriesPerSecond`.
final class QueryServer {
  static let connectionLimit = 16
  /// From one address.
  static let hostLimit = 8
  static let idleLimit = Micros(30_000_000)
  static let pause = Micros(1_000_000)

  let endpoint: Endpoint
  private let listener: Int32
  private let tree: QueryTree
  private let settings: SurfaceSettings
  private let machine: String
  private var connections: [Connection] = []
  private var acceptingAgain = Micros.zero
  private var budget = TokenBucket(
    perSecond: Cost.queriesPerSecond, capacity: Cost.queriesAtOnce, at: Clocks.read().host)

  private struct Connection {
    let descriptor: Int32
    let host: Address
    /// Our own address, as the client reached it.
    let reached: Address
    var input: [UInt8] = []
    /// So many bytes of the input hold no whole request.
    var searched = 0
    var output: [UInt8] = []
    var written = 0
    var isEnding = false
    var hasAsked = false
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
    tree = QueryTree(osc: settings.listen[0], table: settings.table)
    machine = hostName ?? ""
  }

  deinit {
    close(listener)
    for connection in connections { close(connection.descriptor) }
  }

  /// When there is something to do without any news; while there is nothing to spend, nobody is watched.
  func watch(_ watched: inout [pollfd], at now: Micros) -> Micros? {
    guard budget.has(Double(Cost.request), at: now) else { return budget.time(of: Double(Cost.request)) }
    if now >= acceptingAgain { watched.append(pollfd(fd: listener, events: Int16(POLLIN), revents: 0)) }
    for connection in connections {
      let events = connection.written < connection.output.count ? POLLOUT : POLLIN
      watched.append(pollfd(fd: connection.descriptor, events: Int16(events), revents: 0))
    }
    return connections.contains { $0.output.isEmpty && $0.searched < $0.input.count } ? now : nil
  }

  func serve(_ reading: Reading, near: Neighbourhood) {
    let now = Clocks.read().host
    let whole = budget.left(at: now)
    accept(near, at: now)
    // A connection that was served goes to the end.
    for _ in connections.indices {
      let left = budget.left(at: now)
      guard left >= Double(Cost.request), whole - left < Double(Cost.request) else { break }
      var connection = connections.removeFirst()
      if serve(&connection, reading, at: now) {
        connections.append(connection)
      } else {
        close(connection.descriptor)
      }
    }
    drop(where: { now - $0.active >= Self.idleLimit })
  }

  private func drop(where isUnwanted: (Connection) -> Bool) {
    for index in connections.indices.reversed() where isUnwanted(connections[index]) {
      close(connections.remove(at: index).descriptor)
    }
  }

  private func accept(_ near: Neighbourhood, at now: Micros) {
    while now >= acceptingAgain, budget.has(Double(Cost.request), at: now) {
      var address = sockaddr_storage()
      var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
      let descriptor = withUnsafeMutableBytes(of: &address) { raw in
        Glibc.accept(listener, raw.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
      }
      guard descriptor >= 0 else {
        // Out of descriptors: it is there still, and poll would spin on it.
        if errno == EMFILE || errno == ENFILE { acceptingAgain = now + Self.pause }
        return
      }
      budget.spend(Double(Cost.letter), at: now)
      setNonBlocking(descriptor)
      guard let source = withUnsafeBytes(of: address, { Endpoint(socketAddress: $0.baseAddress!) }),
        settings.obeys(source.address, at: endpoint.address, near: near),
        let reached = Endpoint(of: descriptor)
      else {
        close(descriptor)
        continue
      }
      makeRoom(for: source.address)
      connections.append(
        Connection(descriptor: descriptor, host: source.address, reached: reached.address, active: now))
    }
  }

  /// A newcomer takes the place of the one that has been idle for longest, those first that never asked for anything; of its
  /// own, when its address has many.
  private func makeRoom(for host: Address) {
    let own = connections.filter { $0.host == host }
    let crowd = own.count >= Self.hostLimit ? own : connections
    guard own.count >= Self.hostLimit || connections.count >= Self.connectionLimit,
      let idle = crowd.min(by: { ($0.hasAsked ? 1 : 0, $0.active) < ($1.hasAsked ? 1 : 0, $1.active) })
    else { return }
    drop(where: { $0.descriptor == idle.descriptor })
  }

  /// One request at most. false: it is to be closed.
  private func serve(_ connection: inout Connection, _ reading: Reading, at now: Micros) -> Bool {
    if connection.output.isEmpty, !connection.isEnding {
      if connection.searched == connection.input.count {
        var chunk = [UInt8](repeating: 0, count: 4096)
        let count = recv(connection.descriptor, &chunk, chunk.count, 0)
        if count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR) { return false }
        guard count > 0 else { return true }
        budget.spend(Double(Cost.letter), at: now)
        connection.input += chunk[..<count]
        connection.active = now
      }
      answerRequest(&connection, reading, at: now)
    }
    if connection.written < connection.output.count {
      let sent = connection.output.withUnsafeBytes { raw in
        send(
          connection.descriptor, raw.baseAddress?.advanced(by: connection.written),
          raw.count - connection.written, Int32(MSG_NOSIGNAL))
      }
      if sent < 0, errno != EAGAIN, errno != EINTR { return false }
      if sent > 0 {
        budget.spend(Double(Cost.letter / 4), at: now)
        connection.written += sent
        connection.active = now
      }
    }
    if connection.written == connection.output.count {
      connection.output = []
      connection.written = 0
      if connection.isEnding { return false }
    }
    return true
  }

  private func answerRequest(_ connection: inout Connection, _ reading: Reading, at now: Micros) {
    switch HTTPRequest.read(connection.input, searched: connection.searched) {
    case .incomplete: connection.searched = connection.input.count
    case .bad(let status):
      connection.output += response(QueryTree.Answer(status: status), hasBody: true, keepsAlive: false)
      connection.isEnding = true
    case .request(let request, let length):
      connection.hasAsked = true
      connection.input.removeFirst(length)
      connection.searched = 0
      connection.isEnding = !request.keepsAlive
      connection.output += response(
        answer(request, reading, at: connection.reached), hasBody: request.method != "HEAD",
        keepsAlive: request.keepsAlive)
      budget.spend(Double(Cost.query(asking: length, telling: connection.output.count)), at: now)
    }
  }

  private func answer(_ request: HTTPRequest, _ reading: Reading, at reached: Address) -> QueryTree.Answer {
    guard request.method == "GET" || request.method == "HEAD" else { return QueryTree.Answer(status: 405) }
    guard request.isFor(machine) else { return QueryTree.Answer(status: 403) }
    return tree.answer(path: request.path, query: request.query, reading, at: reached)
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
