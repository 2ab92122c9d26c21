// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkAddresses
import LinkBeatMath
import LinkSystem
import Synchronization
import TactusOSC
public import TactusSurface

/// The page for phones, its WebSocket, and OSCQuery: HTTP and WebSocket on a thread of their own.
///
/// To the surface, a browser is one more controller: the surface decides the browser's rights, updates and
/// refusals. This module only connects the two. libmicrohttpd reads requests, and libwslay reads frames. One
/// loop around our own sockets calls both and enforces every limit (`WebLimits`, `Budget`). TLS is left out
/// on purpose: no phone trusts a certificate that we made ourselves.
///
/// One invariant: no other thread waits for this thread, and this thread waits only for its sockets. Start
/// reading at `WebLoop`.
public final class Web: Sendable {
  let shared: WebShared
  private let surface: OSCSurface
  private let thread: Mutex<Thread?>

  /// Opens the addresses that are available and starts the thread, which tries the other addresses again. The
  /// thread calls `notice` when an address opens or fails, and `secret` at regular intervals.
  ///
  /// - Parameter doctor: examines the system for paired browsers and returns JSON. It may take long, and runs
  /// on a thread of its own.
  public init(
    _ settings: WebSettings, secret: @escaping @Sendable () -> Secret, surface: OSCSurface,
    doctor: @escaping @Sendable () -> [UInt8]?, notice: @escaping @Sendable (Notice) -> Void
  ) throws(OpenFailure) {
    let loop = WebLoop(settings, secret: secret, surface: surface, doctor: doctor, notice: notice)
    shared = loop.shared
    self.surface = surface
    do throws(SystemFailure) {
      try shared.bell.open()
      thread = Mutex(try Thread("web") { loop.run() })
    } catch {
      throw OpenFailure(
        endpoint: settings.listen.first ?? Endpoint(.loopback, port: 0), call: "\(error.call)",
        code: error.code)
    }
    surface.post { [shared] packet, browser in shared.post(packet, to: browser) }
  }

  /// The addresses at which the page answers now; the first one is for users.
  public var endpoints: [Endpoint] { shared.mailbox.withLock { $0.endpoints } }
  /// The address of OSCQuery, if it runs without the page; otherwise nil.
  public var queryEndpoint: Endpoint? { shared.mailbox.withLock { $0.queryEndpoint } }
  /// For each address at which the page is missing, the reason.
  public var missing: [String] { shared.mailbox.withLock { $0.missing } }
  public var counters: WebCounters { shared.mailbox.withLock { $0.counters } }

  /// Sets whether this machine's networks can reach the page, in addition to the configured addresses. [any]
  public func open(toNetworks isOpen: Bool) {
    shared.change { $0.isOpenToNetworks = isOpen }
  }

  /// Says goodbye to all browsers and ends the thread. [control]
  public func close() {
    guard let running = thread.withLock({ $0.take() }) else { return }
    surface.post(nil)
    shared.change { $0.isClosing = true }
    running.join()
  }

  deinit { close() }
}

/// Totals since the start, for displays and tests.
public struct WebCounters: Hashable, Sendable {
  public var connections = 0
  /// The connections that are open now.
  public var open = 0
  public var sockets = 0
  public var requests = 0
  /// OSC packets from browsers to the surface, and from the surface to browsers.
  public var received = 0
  public var sent = 0
  /// Connections from addresses that are not served, and connections for which there was no room.
  public var strangers = 0
  public var crowded = 0
  /// Connections that were reset because their host had overspent its budget.
  public var overdrawn = 0
  /// Requests for another machine's name, or from a page of another site.
  public var foreign = 0
  /// Malformed WebSocket messages.
  public var malformed = 0
  public var wrongSecrets = 0
  /// Connections that were too slow with their request, and connections that were too slow to read our
  /// output.
  public var late = 0
  public var slow = 0
  /// The processor time of the thread, in microseconds.
  public var microseconds = 0
}

/// The mailbox in which other threads leave packets and changes for the web thread.
final class WebShared: Sendable {
  struct Outbox {
    var packets: [[UInt8]] = []
    var bytes = 0
    /// Whether packets were dropped because the browser did not read them in time.
    var isOver = false
  }

  struct Mailbox {
    var isClosing = false
    var isOpenToNetworks: Bool
    var endpoints: [Endpoint] = []
    var queryEndpoint: Endpoint?
    var missing: [String] = []
    var counters = WebCounters()
    var outboxes: [Int: Outbox] = [:]
    /// The numbers of outboxes that are not empty.
    var full: Set<Int> = []
  }

  let mailbox: Mutex<Mailbox>
  /// Wakes the web thread to look at the mailbox.
  let bell = WakeUp()

  init(isOpenToNetworks: Bool) { mailbox = Mutex(Mailbox(isOpenToNetworks: isOpenToNetworks)) }

  func change(_ change: (inout Mailbox) -> Void) {
    mailbox.withLock { change(&$0) }
    bell.signal()
  }

  /// Puts a packet for a browser into the browser's outbox. [osc]
  func post(_ packet: [UInt8], to browser: Peer) {
    guard let number = browser.browserNumber else { return }
    let isFirst = mailbox.withLock { mailbox in
      guard var outbox = mailbox.outboxes.removeValue(forKey: number) else { return false }
      defer { mailbox.outboxes[number] = outbox }
      outbox.bytes += packet.count
      outbox.isOver = outbox.isOver || outbox.bytes > WebLimits.outbox
      if !outbox.isOver { outbox.packets.append(packet) }
      let wasEmpty = mailbox.full.isEmpty
      mailbox.full.insert(number)
      return wasEmpty
    }
    if isFirst { bell.signal() }
  }

  /// Takes all packets that wait for browsers. Drains the bell first, so that no later ring is lost; only
  /// this thread drains it. [web]
  func takePosts() -> [(number: Int, outbox: Outbox)] {
    bell.drain()
    return mailbox.withLock { mailbox in
      let taken = mailbox.full.compactMap { number in mailbox.outboxes[number].map { (number, $0) } }
      for (number, _) in taken { mailbox.outboxes[number] = Outbox() }
      mailbox.full.removeAll(keepingCapacity: true)
      return taken
    }
  }
}
