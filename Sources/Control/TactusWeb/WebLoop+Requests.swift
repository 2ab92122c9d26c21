// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkSystem
import TactusOSC
import TactusSurface

// Handles HTTP requests and opens WebSockets.
extension WebLoop: HTTPAnswering {
  func refusal(_ request: Request, from visitor: Connection) -> Response? {
    counters.requests += 1
    guard let refusal = answers.refusal(request, at: visitor.listener) else { return nil }
    if refusal.status == 403 { counters.foreign += 1 }
    return guarded(refusal)
  }

  func mayAsk(_ request: Request, from visitor: Connection) -> Bool {
    let now = HostClock.micros()
    return budget.has(visitor.host, at: now) && (!wantsDoctor(request, visitor) || doctor.hasReport(at: now))
  }

  /// Whether the request asks for the doctor's examination. An examination costs more than any other
  /// request, so only paired browsers may ask for it.
  private func wantsDoctor(_ request: Request, _ visitor: Connection) -> Bool {
    visitor.listener == .page && request.path == "/doctor" && isPaired(request)
  }

  func answer(_ request: Request, body: [UInt8], from visitor: Connection) -> Response {
    let now = HostClock.micros()
    if Handshake.isAsked(request) { return guarded(welcome(request, from: visitor, at: now)) }
    if wantsDoctor(request, visitor) { return guarded(Answers.examined(doctor.report)) }
    let isPaired = isPaired(request)
    return guarded(
      answers.answer(request, body: body, from: visitor, surface, isPaired: isPaired) { code in
        heedSecret(at: now)
        return pairing.answer(code, from: visitor.host, at: now)
      })
  }

  private func isPaired(_ request: Request) -> Bool {
    guard request.showsCookie else { return false }
    heedSecret(at: HostClock.micros())
    return request.cookie(pairing.secret.cookie).map { pairing.isPaired(token: $0.utf8) } ?? false
  }

  private func guarded(_ response: Response) -> Response {
    guard response.status != 101 else { return response }
    var response = response
    response.headers += Answers.guards
    return response
  }

  private func welcome(_ request: Request, from visitor: Connection, at now: Micros) -> Response {
    guard request.path == "/osc" || request.path == "/" else {
      return Response(404, "the WebSocket is at /osc\n")
    }
    guard let accept = Handshake.accept(request) else {
      var response = Response(426, "only WebSocket of version 13 is accepted\n")
      response.headers = [("Sec-WebSocket-Version", "13")]
      return response
    }
    if let code = request.socketCode {
      heedSecret(at: now)
      // Count the wrong codes that a page of another site sends separately: a hostile page must not use up
      // the tries of the browser that shows it.
      let from = request.isFromOurPage ? visitor.host : Pairing.elsewhere
      let answer = pairing.answer(code.utf8, from: from, at: now)
      guard case .paired = answer else { return Answers.paired(answer) }
      visitor.shown = pairing.secret
    }
    var response = Response(101)
    response.headers = [("Upgrade", "websocket"), ("Sec-WebSocket-Accept", accept)]
    return response
  }

  func upgraded(_ visitor: Connection, _ request: Request, handle: OpaquePointer, early: [UInt8]) {
    let isPaired = isPaired(request) || visitor.shown == pairing.secret
    let browser = Browser(number: visitor.number, isPaired: isPaired)
    let peer = Peer(browser, at: visitor.endpoint)
    guard
      let socket = WebSocket(
        peer, visitor.descriptor, handle: handle, early: early, at: HostClock.micros())
    else { return visitor.end() }
    visitor.socket = socket
    shared.mailbox.withLock { $0.outboxes[visitor.number] = WebShared.Outbox() }
  }

  func worked(for visitor: Connection) {
    let spent = Budget.spent()
    budget.gate.charge(spent - worked, to: visitor.host, at: HostClock.micros())
    worked = spent
  }

  func gone(_ visitor: Connection) {
    forget(visitor)
    crowd.remove(visitor.number)
  }
}
