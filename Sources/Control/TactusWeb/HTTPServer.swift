// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusMicrohttpd
import Glibc
import LinkAddresses
import LinkBeatMath
import LinkSystem

/// An HTTP response.
struct Response {
  var status: Int
  var type = "text/plain; charset=utf-8"
  var body: [UInt8] = []
  var headers: [(name: String, value: String)] = []

  init(_ status: Int, _ words: String = "") {
    self.status = status
    body = Array(words.utf8)
  }
}

/// The owner of the server: it answers requests, and is called when something happens to a connection.
protocol HTTPAnswering: AnyObject {
  /// Returns the refusal of a request before its body is read; nil: the body may be read. Only
  /// `POST` may have a body.
  func refusal(_ request: Request, from visitor: Connection) -> Response?
  /// Whether to answer the request now: the visitor's host has budget left, and the answer is ready.
  /// If not, the request waits.
  func mayAsk(_ request: Request, from visitor: Connection) -> Bool
  func answer(_ request: Request, body: [UInt8], from visitor: Connection) -> Response
  /// Called when the connection has become a WebSocket; `early` holds bytes that it has sent already.
  func upgraded(_ visitor: Connection, _ request: Request, handle: OpaquePointer, early: [UInt8])
  func gone(_ visitor: Connection)
  /// Called after the library has worked for this visitor, to charge the visitor's host for the time since
  /// the last call.
  func worked(for visitor: Connection)
}

/// libmicrohttpd's daemon, without a thread of its own: it accepts connections, reads requests and sends
/// answers.
final class HTTPServer {
  private var daemon: OpaquePointer?
  private unowned let answerer: any HTTPAnswering
  /// Connections that we gave to the library but that the library does not serve yet, by socket. Up to
  /// version 0.9, libmicrohttpd begins to serve a connection in `MHD_add_connection`; from 1.0 on, in
  /// `MHD_run`.
  private var arriving: [Int32: Connection] = [:]
  private var isClosing = false
  private var waiting: [(connection: OpaquePointer, exchange: Exchange)] = []

  /// One request.
  private final class Exchange {
    let visitor: Connection
    let request: Request
    var body: [UInt8] = []

    init(_ visitor: Connection, _ request: Request) {
      self.visitor = visitor
      self.request = request
    }
  }

  init?(for answerer: any HTTPAnswering) {
    self.answerer = answerer
    let place = Unmanaged.passUnretained(self).toOpaque()
    daemon = web_start(
      answerRequest, requestCompleted, connectionChanged, place, UInt32(4 * WebLimits.connections),
      WebLimits.head,
      UInt32(WebLimits.idle / 1_000_000))
    guard daemon != nil else { return nil }
  }

  /// A descriptor to poll, which becomes readable when the library has something to do.
  var descriptor: Int32 { daemon.map { web_descriptor($0) } ?? -1 }

  /// Milliseconds until the library has something to do at the latest; nil: no deadline.
  var millisUntilDue: Int? {
    var time: UInt64 = 0
    return MHD_get_timeout(daemon, &time) == .YES ? Int(clamping: time) : nil
  }

  func run() {
    _ = MHD_run(daemon)
    // The connections that the library has closed because it could not serve them. For these it calls no
    // callback.
    let refused = arriving.values
    arriving = [:]
    for visitor in refused { answerer.gone(visitor) }
  }

  func adopt(_ visitor: Connection) -> Bool {
    arriving[visitor.descriptor] = visitor
    let isTaken = visitor.endpoint.withSocketAddress { address, length in
      MHD_add_connection(daemon, visitor.descriptor, address, length) == .YES
    }
    if !isTaken { arriving[visitor.descriptor] = nil }
    return isTaken
  }

  /// Resumes the suspended requests that may now be answered.
  func resume() {
    // Ask `mayGoOn` only once for each request: a second call could decide differently.
    let may = waiting.map { mayGoOn($0.exchange) }
    for (entry, may) in zip(waiting, may) where may { MHD_resume_connection(entry.connection) }
    waiting = zip(waiting, may).filter { !$0.1 }.map(\.0)
  }

  /// Stops the daemon. Call this only when no connection is a WebSocket any more.
  func close() {
    guard let running = daemon else { return }
    isClosing = true
    for entry in waiting { MHD_resume_connection(entry.connection) }
    waiting = []
    run()
    daemon = nil
    MHD_stop_daemon(running)
  }

  // MARK: the library's calls

  fileprivate func begin(_ connection: OpaquePointer, _ url: String, method: String, version: String)
    -> UnsafeMutableRawPointer?
  {
    guard let context = web_context(connection) else { return nil }
    let visitor = Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue()
    var request = Request(method: method, version: version, reached: visitor.reached.address)
    withUnsafeMutablePointer(to: &request) { place in
      _ = MHD_get_connection_values(connection, .HEADER_KIND, takeHeader, place)
      _ = MHD_get_connection_values(connection, .GET_ARGUMENT_KIND, takeArgument, place)
    }
    request.host = request.headers["host", default: ""]
    if let (authority, path) = Request.target(url) {
      request.host = authority ?? request.host
      request.path = path
    } else {
      request.path = ""
    }
    visitor.asks(at: HostClock.micros())
    return Unmanaged.passRetained(Exchange(visitor, request)).toOpaque()
  }

  /// The library calls this until the request has an answer.
  fileprivate func go(
    on connection: OpaquePointer, with place: UnsafeMutableRawPointer, isFirst: Bool,
    body: UnsafeRawBufferPointer
  ) -> MHD_Result {
    let exchange = Unmanaged<Exchange>.fromOpaque(place).takeUnretainedValue()
    defer { answerer.worked(for: exchange.visitor) }
    if isFirst {
      guard let refusal = answerer.refusal(exchange.request, from: exchange.visitor) else { return .YES }
      return send(refusal, on: connection, place)
    }
    guard body.isEmpty else {
      if exchange.body.count <= WebLimits.body { exchange.body += body.prefix(WebLimits.body + 1) }
      return .YES
    }
    guard mayGoOn(exchange) else {
      waiting.append((connection, exchange))
      MHD_suspend_connection(connection)
      return .YES
    }
    return send(
      answerer.answer(exchange.request, body: exchange.body, from: exchange.visitor), on: connection, place)
  }

  private func mayGoOn(_ exchange: Exchange) -> Bool {
    isClosing || exchange.visitor.isEnding || answerer.mayAsk(exchange.request, from: exchange.visitor)
  }

  private func send(_ answer: Response, on connection: OpaquePointer, _ place: UnsafeMutableRawPointer)
    -> MHD_Result
  {
    let response =
      answer.status == 101
      ? MHD_create_response_for_upgrade(speakOtherwise, Unmanaged.passUnretained(self).toOpaque())
      : answer.body.withUnsafeBytes { web_response($0.count, $0.baseAddress) }
    guard let response else { return .NO }
    defer { MHD_destroy_response(response) }
    if answer.status != 101, answer.status != 204 {
      _ = MHD_add_response_header(response, "Content-Type", answer.type)
    }
    for header in answer.headers { _ = MHD_add_response_header(response, header.name, header.value) }
    return MHD_queue_response(connection, UInt32(answer.status), response)
  }

  fileprivate func upgrade(
    _ place: UnsafeMutableRawPointer, early: UnsafeRawBufferPointer, handle: OpaquePointer
  ) {
    let exchange = Unmanaged<Exchange>.fromOpaque(place).takeUnretainedValue()
    answerer.upgraded(exchange.visitor, exchange.request, handle: handle, early: Array(early))
  }

  fileprivate func complete(_ place: UnsafeMutableRawPointer) {
    let visitor = Unmanaged<Exchange>.fromOpaque(place).takeRetainedValue().visitor
    visitor.rests(at: HostClock.micros())
    answerer.worked(for: visitor)
  }

  fileprivate func start(_ connection: OpaquePointer) -> UnsafeMutableRawPointer? {
    arriving.removeValue(forKey: web_socket(connection)).map { Unmanaged.passRetained($0).toOpaque() }
  }

  fileprivate func end(_ place: UnsafeMutableRawPointer) {
    let visitor = Unmanaged<Connection>.fromOpaque(place).takeRetainedValue()
    answerer.gone(visitor)
    answerer.worked(for: visitor)
  }
}

private func server(_ context: UnsafeMutableRawPointer?) -> HTTPServer {
  Unmanaged<HTTPServer>.fromOpaque(context!).takeUnretainedValue()
}

private func answerRequest(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ url: UnsafePointer<CChar>?,
  _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?, _ data: UnsafePointer<CChar>?,
  _ size: UnsafeMutablePointer<Int>?, _ place: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
  guard let connection, let url, let method, let version, let size, let place else { return .NO }
  let isFirst = place.pointee == nil
  if isFirst {
    place.pointee = server(context).begin(
      connection, String(cString: url), method: String(cString: method), version: String(cString: version))
  }
  guard let exchange = place.pointee else { return .NO }
  let body = UnsafeRawBufferPointer(start: data, count: size.pointee)
  if !isFirst { size.pointee = 0 }
  return server(context).go(on: connection, with: exchange, isFirst: isFirst, body: body)
}

private func requestCompleted(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ place: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ how: MHD_RequestTerminationCode
) {
  guard let place, let exchange = place.pointee else { return }
  place.pointee = nil
  server(context).complete(exchange)
}

private func connectionChanged(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ place: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ news: MHD_ConnectionNotificationCode
) {
  guard let connection, let place else { return }
  if news.rawValue == 0 {
    place.pointee = server(context).start(connection)
  } else if let visitor = place.pointee {
    place.pointee = nil
    server(context).end(visitor)
  }
}

private func speakOtherwise(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ place: UnsafeMutableRawPointer?,
  _ early: UnsafePointer<CChar>?, _ count: Int, _ descriptor: Int32, _ handle: OpaquePointer?
) {
  guard let place, let handle else { return }
  server(context).upgrade(place, early: UnsafeRawBufferPointer(start: early, count: count), handle: handle)
}

private func takeHeader(
  _ context: UnsafeMutableRawPointer?, _ kind: MHD_ValueKind, _ name: UnsafePointer<CChar>?,
  _ value: UnsafePointer<CChar>?
) -> MHD_Result {
  guard let context, let name else { return .NO }
  context.assumingMemoryBound(to: Request.self).pointee.add(
    header: String(cString: name), value.map { String(cString: $0) } ?? "")
  return .YES
}

/// Takes a part of the query. OSCQuery's queries are one word without a value; the parts of any other query
/// are joined and match nothing.
private func takeArgument(
  _ context: UnsafeMutableRawPointer?, _ kind: MHD_ValueKind, _ name: UnsafePointer<CChar>?,
  _ value: UnsafePointer<CChar>?
) -> MHD_Result {
  guard let context, let name else { return .NO }
  let request = context.assumingMemoryBound(to: Request.self)
  let word = String(cString: name) + (value.map { "=" + String(cString: $0) } ?? "")
  request.pointee.query = request.pointee.query.map { $0 + "&" + word } ?? word
  return .YES
}
