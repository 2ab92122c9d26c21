// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath
import TactusOSC

/// tactus as a client of a session manager, as a machine without I/O. It speaks the protocol of New Session
/// Manager (API 1.1), as RaySession, Agordejo and Carla do.
///
/// The machine has no sockets, clocks or files, and no JACK. Messages and the time go in; messages to send
/// and requests to the program come out. `ManagedSession` has the socket.
///
/// The invariant: each `open` and each `save` of the manager is answered exactly once, and only the manager's
/// messages are obeyed.
///
/// To use it, call `announce`, then `receive` for every message and `tick` now and then. After each of
/// these calls, carry out `nextOutput` until it is nil. When the program has carried out a request, call
/// `opened` or `saved`.
public struct NSMClient: Sendable {
  /// Capabilities in NSM's notation. `switch` is left out, because tactus opens another project
  /// only after a restart. `optional-gui` is left out, because tactus has no such window.
  static let capabilities = ":dirty:message:"
  /// How long to wait for the manager, which normally answers in milliseconds. After that, the program runs
  /// without a manager.
  static let answerTimeout = Micros(5_000_000)
  static let outputLimit = 64

  public enum Output: Equatable, Sendable {
    case send(Message)
    /// The manager has accepted us; `open` will follow.
    case joined(manager: String)
    /// The program runs without a manager, for the given reason.
    case alone(reason: String)
    /// The manager has accepted us but has not sent `open` yet. This is reported once, and we keep waiting:
    /// no JACK client may exist before `open`, and a session with large programs takes long to start.
    case stillWaiting
    /// Open or create this project, then call `opened`.
    case open(Project)
    /// Write the project, then call `saved`.
    case save
    /// The manager has sent `open` to all programs of the session.
    case sessionIsLoaded
  }

  public enum Outcome: Equatable, Sendable {
    case done
    case failed(Failure)
  }

  public struct Failure: Equatable, Sendable {
    let code: Int32
    let text: String

    public static func badProject(_ text: String) -> Failure { Failure(code: -9, text: text) }
    public static func cannotCreate(_ text: String) -> Failure { Failure(code: -10, text: text) }
    public static func general(_ text: String) -> Failure { Failure(code: -1, text: text) }
  }

  /// Counts of messages that were not obeyed.
  public struct Counters: Equatable, Sendable {
    /// Messages from another address than the manager's.
    public var strangers = 0
    /// The manager's messages that were malformed, or came at the wrong time.
    public var ignored = 0
  }

  enum Phase: Equatable {
    case silent
    case announced(since: Micros)
    case alone
    case joined
    case opening(Project)
    case open(Project)
    case saving(Project)
  }

  let manager: Endpoint
  private(set) var phase = Phase.silent
  public private(set) var counters = Counters()
  private var outputs: [Output] = []
  private var isDirty = false
  /// When we began to wait for the manager's `open`.
  private var joined: Micros?
  private var label = ""

  public init(manager: Endpoint) {
    self.manager = manager
  }

  public mutating func nextOutput() -> Output? {
    outputs.isEmpty ? nil : outputs.removeFirst()
  }

  private mutating func put(_ output: Output) {
    // The queue is full only if the caller has stopped reading. Normally the caller reads every 20 ms, and
    // each message causes only one output.
    guard outputs.count < Self.outputLimit else {
      counters.ignored += 1
      return
    }
    outputs.append(output)
  }

  private mutating func answer(_ address: String, _ outcome: Outcome, _ text: String) {
    switch outcome {
    case .done: put(.send(Message("/reply", .string(address), .string(text))))
    case .failed(let failure): refuse(address, failure.code, failure.text)
    }
  }

  private mutating func refuse(_ address: String, _ code: Int32, _ reason: String) {
    put(.send(Message("/error", .string(address), .int32(code), .string(reason))))
  }
}

// MARK: from the program to the manager

extension NSMClient {
  /// Call this once, as soon as the program could carry out an `open`. `executable` is the command as the
  /// user typed it; managers look it up in PATH.
  public mutating func announce(executable: String, process: Int32, at now: Micros) {
    guard phase == .silent else { return }
    phase = .announced(since: now)
    put(
      .send(
        Message(
          "/nsm/server/announce", .string("tactus"), .string(Self.capabilities), .string(executable),
          .int32(1),
          .int32(0), .int32(process))))
  }

  public mutating func tick(at now: Micros) {
    switch phase {
    case .announced(let since) where now - since >= Self.answerTimeout:
      phase = .alone
      put(.alone(reason: "the session manager does not answer"))
    case .joined:
      let since = joined ?? now
      joined = since
      guard now - since >= Self.answerTimeout else { return }
      joined = Micros(.max)
      put(.stillWaiting)
    case .silent, .announced, .alone, .opening, .open, .saving: break
    }
  }

  public mutating func opened(_ outcome: Outcome) {
    guard case .opening(let project) = phase else { return }
    phase = outcome == .done ? .open(project) : .joined
    answer("/nsm/client/open", outcome, "ready")
  }

  public mutating func saved(_ outcome: Outcome) {
    guard case .saving(let project) = phase else { return }
    phase = .open(project)
    answer("/nsm/client/save", outcome, "saved")
    if outcome == .done { changed(false) }
  }

  /// Sets whether a save would write anything. The manager gets a message only when this changes.
  public mutating func changed(_ isDirty: Bool) {
    guard isOpen, isDirty != self.isDirty else { return }
    self.isDirty = isDirty
    put(.send(Message(isDirty ? "/nsm/client/is_dirty" : "/nsm/client/is_clean")))
  }

  /// Sets the text beside our name in the manager's list. The manager gets a message only when the text
  /// changes.
  public mutating func show(label: String) {
    guard isOpen, label != self.label else { return }
    self.label = label
    put(.send(Message("/nsm/client/label", .string(label))))
  }

  /// Shows a message at the manager; 0 is the lowest priority, 3 is urgent.
  public mutating func tell(_ text: String, priority: Int32) {
    guard isOpen else { return }
    put(.send(Message("/nsm/client/message", .int32(min(3, max(0, priority))), .string(text))))
  }

  /// The project that is open; nil before `opened`.
  public var project: Project? {
    switch phase {
    case .silent, .announced, .alone, .joined, .opening: nil
    case .open(let project), .saving(let project): project
    }
  }

  private var isOpen: Bool { project != nil }
}

// MARK: from the manager

extension NSMClient {
  public mutating func receive(_ message: Message, from source: Endpoint) {
    guard isManager(source) else {
      counters.strangers += 1
      return
    }
    switch message.address {
    case "/reply": heardReply(message)
    case "/error": heardError(message)
    case "/nsm/client/open": heardOpen(message)
    case "/nsm/client/save": heardSave()
    case "/nsm/client/session_is_loaded" where project != nil: put(.sessionIsLoaded)
    default: counters.ignored += 1
    }
  }

  /// A manager that was addressed by its machine's name (127.0.1.1) answers from 127.0.0.1, so compare the
  /// port and accept both.
  private func isManager(_ source: Endpoint) -> Bool {
    source.port == manager.port
      && (source.address == manager.address || (source.address.isLoopback && manager.address.isLoopback))
  }

  private mutating func heardReply(_ message: Message) {
    guard case .announced = phase, message.text(0) == "/nsm/server/announce" else {
      counters.ignored += 1
      return
    }
    phase = .joined
    put(.joined(manager: message.text(2) ?? "a session manager"))
  }

  private mutating func heardError(_ message: Message) {
    guard case .announced = phase, message.text(0) == "/nsm/server/announce" else {
      counters.ignored += 1
      return
    }
    phase = .alone
    let reason = message.text(2) ?? "without saying why"
    put(.alone(reason: "the session manager refuses: \(reason)"))
  }

  private mutating func heardOpen(_ message: Message) {
    let address = "/nsm/client/open"
    switch phase {
    case .silent, .announced, .alone: counters.ignored += 1
    case .opening, .saving: refuse(address, -8, "still busy with the last request")
    case .open: refuse(address, -8, "one project at a time; start tactus again for another")
    case .joined:
      guard let path = message.text(0), let name = message.text(1), let identifier = message.text(2) else {
        refuse(address, -1, "/nsm/client/open needs path, name and client ID as text")
        return
      }
      do throws(Project.Unusable) {
        let project = try Project(path: path, displayName: name, clientID: identifier)
        phase = .opening(project)
        put(.open(project))
      } catch {
        refuse(address, -9, error.reason)
      }
    }
  }

  private mutating func heardSave() {
    switch phase {
    case .silent, .announced, .alone: counters.ignored += 1
    case .joined: refuse("/nsm/client/save", -6, "no project is open")
    case .opening, .saving: refuse("/nsm/client/save", -8, "still busy with the last request")
    case .open(let project):
      phase = .saving(project)
      put(.save)
    }
  }
}

extension Message {
  fileprivate func text(_ index: Int) -> String? {
    guard arguments.indices.contains(index), case .string(let text) = arguments[index] else { return nil }
    return text
  }
}
