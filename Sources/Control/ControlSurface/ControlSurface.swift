// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
internal import LinkSystem
public import MIDIControl
import Synchronization
import TactusOSC

/// The running control surface: OSC for controllers, tablets and programs.
///
/// Commands leave it through a handler, and state comes in through `update`; it knows neither Link nor JACK.
/// `SurfaceMachine`, which has no socket, decides what is sent and when. `Table` lists all addresses. TCP is
/// left out on purpose: liblo's TCP code is unsafe, and no tablet needs it.
///
/// One invariant: all input from outside is checked before it is interpreted. It never waits for another
/// thread, and no other thread waits for it.
///
///     let surface = try OSCSurface(settings, state: state, notice: { print($0.text) }) { order in
///       .accepted
///     }
///     surface.update { $0.peers = 2 }
///     surface.close()
public final class OSCSurface: Sendable {
  let shared: Shared
  private let thread: Mutex<Thread?>

  /// Opens the sockets that can be opened and starts the thread, which opens the others later.
  ///
  /// `handler` and `notice` are called on the surface's thread and should not be slow. `handler` may call
  /// `update`; changes made there are sent before anything else.
  public init(
    _ settings: SurfaceSettings, state: SurfaceState, notice: @escaping @Sendable (Notice) -> Void,
    handler: @escaping @Sendable (Order) -> Reply
  ) throws(OpenFailure) {
    let loop = SurfaceLoop(settings, state: state, notice: notice, handler: handler)
    shared = loop.shared
    do throws(SystemFailure) {
      thread = Mutex(try Thread("osc") { loop.run() })
    } catch {
      throw OpenFailure(
        endpoint: settings.listen.first ?? Endpoint(.loopback, port: 0), call: "\(error.call)",
        code: error.code)
    }
  }

  /// Open listening addresses; the first is the one to show to people.
  public var endpoints: [Endpoint] { shared.mailbox.withLock { $0.endpoints } }

  /// Changes the state. Subscribers receive the values that differ. [any]
  public func update(_ change: (inout SurfaceState) -> Void) {
    shared.update(change)
  }

  /// A knob or a pedal, and when its message arrived. [any]
  public func receive(_ message: MIDIMessage, at time: Micros) {
    shared.receive(.midi(message), at: time)
  }

  /// A key of the terminal view, and when it was pressed. [any]
  public func press(_ targets: [Target], at time: Micros) {
    shared.receive(.key(targets), at: time)
  }

  /// The place in the set list. [any]
  public var place: SetPlace { shared.mailbox.withLock { $0.reading.place } }

  public var counters: SurfaceCounters { shared.mailbox.withLock { $0.counters } }

  /// Clears the controllers' displays, says bye and ends the thread. [control]
  public func close() {
    guard let running = thread.withLock({ $0.take() }) else { return }
    shared.mailbox.withLock { $0.isClosing = true }
    shared.bell.signal()
    running.join()
  }

  deinit { close() }
}

/// Mailbox through which other threads reach the surface's thread.
final class Shared: Sendable {
  struct Mailbox {
    var state: SurfaceState
    var hasNews = false
    var isClosing = false
    var counters = SurfaceCounters()
    var endpoints: [Endpoint] = []
    var hands = LocalInputQueue(at: Clocks.read().host)
    var mail = BrowserMail()
    /// Delivers packets to browsers.
    var post: (@Sendable ([UInt8], Peer) -> Void)?
    var web = WebReach()
    var isElsewhere = false
    /// The values at the last look; `snapshot` reads them.
    var reading: Reading

    init(_ reading: Reading) {
      state = reading.state
      self.reading = reading
    }

    mutating func takeElsewhere() -> Bool {
      defer { isElsewhere = false }
      return isElsewhere
    }
  }

  let mailbox: Mutex<Mailbox>
  /// Wakes the surface's thread, so that it looks at the mailbox.
  let bell = WakeUp()

  init(_ state: SurfaceState, version: String) {
    mailbox = Mutex(Mailbox(Reading(state: state, own: SurfaceMemory(), version: version)))
    try? bell.open()
  }

  func update(_ change: (inout SurfaceState) -> Void) {
    let isNew = mailbox.withLock { mailbox in
      change(&mailbox.state)
      let wasRead = !mailbox.hasNews
      mailbox.hasNews = true
      return wasRead
    }
    if isNew { bell.signal() }
  }

  func receive(_ touch: LocalInput, at time: Micros) {
    mailbox.withLock { $0.hands.put(touch, at: time) }
    bell.signal()
  }

  /// Returns the state if it has changed since the last call, else nil.
  func takeState() -> SurfaceState? {
    mailbox.withLock { mailbox in
      guard mailbox.hasNews else { return nil }
      mailbox.hasNews = false
      return mailbox.state
    }
  }
}
