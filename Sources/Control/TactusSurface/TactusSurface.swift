// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath
internal import LinkSystem
import Synchronization
public import TactusMIDI
import TactusOSC

/// The running control surface: OSC for controllers, tablets and programs.
///
/// The surface knows neither Link nor JACK: commands leave it through a handler, and state comes in through
/// `update`. `SurfaceMachine`, which has no socket, decides what is sent and when. `Table` lists all
/// addresses. TCP is left out on purpose: liblo's TCP code is unsafe, and no tablet needs TCP.
///
/// One invariant: all input from outside is checked before it is interpreted. The surface never waits for
/// another thread, and no other thread waits for the surface.
///
///     let surface = try OSCSurface(settings, state: state, notice: { print($0.text) }) { order in
///       .accepted
///     }
///     surface.update { $0.link.peers = 2 }
///     surface.close()
public final class OSCSurface: Sendable {
  let shared: Shared
  private let thread: Mutex<Thread?>

  /// Opens as many of its sockets as it can, and starts the thread, which opens the others later.
  ///
  /// `handler` and `notice` are called on the surface's thread and should be fast. `handler` may call
  /// `update`; the changes that it makes are sent before anything else.
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

  /// The addresses at which the surface listens; the first is the one to show to users.
  public var endpoints: [Endpoint] { shared.mailbox.withLock { $0.endpoints } }

  /// Changes the state. Subscribers receive the values that have changed. [any]
  public func update(_ change: (inout SurfaceState) -> Void) {
    shared.update(change)
  }

  /// Takes a message of a knob or a pedal, and the time at which the message arrived. [any]
  public func receive(_ message: MIDIMessage, at time: Micros) {
    shared.receive(.midi(message), at: time)
  }

  /// Takes a key of the terminal view, and the time at which it was pressed. [any]
  public func press(_ targets: [Target], at time: Micros) {
    shared.receive(.key(targets), at: time)
  }

  /// The present place in the set list. [any]
  public var place: SetPlace { shared.mailbox.withLock { $0.reading.place } }

  /// The tempo that waits for its beat, in BPM; 0: none. [any]
  public var tempoWaiting: Double { shared.mailbox.withLock { $0.reading.own.tempoWaiting } }

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

/// The mailbox through which other threads reach the surface's thread.
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
    /// The values when the surface's thread last published them; `snapshot` reads these.
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

  /// Returns the state if it has changed since the last call; otherwise nil.
  func takeState() -> SurfaceState? {
    mailbox.withLock { mailbox in
      guard mailbox.hasNews else { return nil }
      mailbox.hasNews = false
      return mailbox.state
    }
  }
}
