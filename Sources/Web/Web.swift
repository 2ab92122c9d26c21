// SPDX-License-Identifier: GPL-2.0-or-later
public import Addresses
import BeatMath
public import ControlSurface
import Linux
import OSC
import Synchronization

/// The page for every phone, its socket, and OSCQuery: HTTP and WebSocket on a thread of their own.
///
/// A browser is one more controller of the surface's: what it may, what it is told, and what it is refused is decided there. Here is only how
/// it comes in. libmicrohttpd reads requests, libwslay frames; both are called from one loop around our own sockets, which has every
/// bound (`WebLimits`, `Budget`). It lacks TLS, on purpose: no phone believes a certificate that we made ourselves.
///
/// One invariant: nobody waits for this thread, and it waits for nobody but its sockets. Way in: `WebLoop`.
public final class Web: Sendable {
  let shared: WebShared
  private let surface: OSCSurface
  private let thread: Mutex<Thread?>

  /// Opens what can be opened and starts the thread, which looks after the rest and calls `notice`, and, again and again, `secret`.
  ///
  /// - Parameter doctor: finds out what is wrong, as JSON, for paired browsers; it may take its time, on a thread of its own.
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

  /// Where the page answers at this moment; the first is the one to tell people.
  public var endpoints: [Endpoint] { shared.mailbox.withLock { $0.endpoints } }
  /// Where OSCQuery answers without it.
  public var queryEndpoint: Endpoint? { shared.mailbox.withLock { $0.queryEndpoint } }
  /// Why the page is not where it should be.
  public var missing: [String] { shared.mailbox.withLock { $0.missing } }
  public var counters: WebCounters { shared.mailbox.withLock { $0.counters } }

  /// Whether the networks that this machine is on can reach the page, besides where it was told to listen. [any]
  public func open(toNetworks isOpen: Bool) {
    shared.change { $0.isOpenToNetworks = isOpen }
  }

  /// Says goodbye to all and ends the thread. [control]
  public func close() {
    guard let running = thread.withLock({ $0.take() }) else { return }
    surface.post(nil)
    shared.change { $0.isClosing = true }
    running.join()
  }

  deinit { close() }
}

/// What happened since the start; for read-outs and tests.
public struct WebCounters: Hashable, Sendable {
  public var connections = 0
  /// Open at this moment.
  public var open = 0
  public var sockets = 0
  public var requests = 0
  /// Packets from browsers to the surface, and back.
  public var received = 0
  public var sent = 0
  /// From addresses that are not served, or for which there was no room.
  public var strangers = 0
  public var crowded = 0
  /// Connections of hosts that had spent more than is theirs.
  public var overdrawn = 0
  /// With another machine's name, or from another's page.
  public var foreign = 0
  /// What was no message.
  public var malformed = 0
  public var wrongSecrets = 0
  /// Too slow to ask, or to take what they were told.
  public var late = 0
  public var slow = 0
  /// Of a processor's time, that the thread took.
  public var microseconds = 0
}

/// What other threads leave for the web thread.
final class WebShared: Sendable {
  struct Outbox {
    var packets: [[UInt8]] = []
    var bytes = 0
    /// It was told more than it took.
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
    /// Those with something in them.
    var full: Set<Int> = []
  }

  let mailbox: Mutex<Mailbox>
  /// Rings where the web thread waits: look at the mailbox.
  let bell = WakeUp()

  init(isOpenToNetworks: Bool) { mailbox = Mutex(Mailbox(isOpenToNetworks: isOpenToNetworks)) }

  func change(_ change: (inout Mailbox) -> Void) {
    mailbox.withLock { change(&$0) }
    bell.signal()
  }

  /// [osc]
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

  /// Silences the bell first, and nobody else does: anyone who rings from here on is heard. [web]
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
