// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
internal import Linux
public import MIDIControl
import OSC
import Synchronization

/// The control surface, running: OSC for hands, tablets and programs.
///
/// Commands leave it through a handler, state comes in through `update`; it knows neither Link nor JACK. What is
/// said and when is decided in `SurfaceMachine`, which has no socket; what can be said is `Table`. It lacks TCP, on
/// purpose: liblo's is unsafe, and no tablet needs it.
///
/// One invariant: everything from outside is checked before it is understood, and nothing from outside waits on, or
/// is waited for by, any other thread.
///
///     let surface = try OSCSurface(settings, state: state, notice: { print($0.text) }) { order in .accepted }
///     surface.update { $0.peers = 2 }
///     surface.close()
public final class OSCSurface: Sendable {
  let shared: Shared
  private let thread: Mutex<Thread?>

  /// Opens what can be opened and starts the thread, which looks after the rest.
  ///
  /// `handler` and `notice` are called on the surface's thread and should not be slow; `handler` may call `update`,
  /// and what it changes there is told before anything else.
  public init(
    _ settings: SurfaceSettings, state: SurfaceState, notice: @escaping @Sendable (Notice) -> Void,
    handler: @escaping @Sendable (Order) -> Verdict
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

  /// Where it listens at this moment; the first is the one to tell people.
  public var endpoints: [Endpoint] { shared.mailbox.withLock { $0.endpoints } }

  /// The controllers are told what differs. [any]
  public func update(_ change: (inout SurfaceState) -> Void) {
    shared.update(change)
  }

  /// A knob or a pedal, and when it came in. [any]
  public func receive(_ message: MIDIMessage, at time: Micros) {
    shared.receive(.midi(message), at: time)
  }

  /// A key of the terminal view, and when it was pressed. [any]
  public func press(_ targets: [Target], at time: Micros) {
    shared.receive(.key(targets), at: time)
  }

  public var counters: SurfaceCounters { shared.mailbox.withLock { $0.counters } }

  /// Clears the controllers, says bye and ends the thread. [control]
  public func close() {
    guard let running = thread.withLock({ $0.take() }) else { return }
    shared.mailbox.withLock { $0.isClosing = true }
    shared.bell.signal()
    running.join()
  }

  deinit { close() }
}

/// What other threads leave for the surface's.
final class Shared: Sendable {
  struct Mailbox {
    var state: SurfaceState
    var hasNews = false
    var isClosing = false
    var counters = SurfaceCounters()
    var endpoints: [Endpoint] = []
    var hands = Hands(at: Clocks.read().host)
    var mail = BrowserMail()
    /// To browsers.
    var post: (@Sendable ([UInt8], Peer) -> Void)?
    var web = WebReach()
    var isElsewhere = false
    /// As values were at the last look.
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
  /// Rings where the surface's thread waits: look at the mailbox.
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

  func receive(_ touch: Touch, at time: Micros) {
    mailbox.withLock { $0.hands.put(touch, at: time) }
    bell.signal()
  }

  /// nil: nothing new.
  func takeState() -> SurfaceState? {
    mailbox.withLock { mailbox in
      guard mailbox.hasNews else { return nil }
      mailbox.hasNews = false
      return mailbox.state
    }
  }
}
