// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import Link
import LinkBeatMath
import LinkSystem
import TactusOSC
import TactusSurface
import TactusTerminal

/// `tactus view`: shows a tactus that runs without a view, such as a service, or on another machine.
struct ViewCommand: Conversing {
  static let name = "view"
  static let summary = "Show a tactus that runs elsewhere, and control it by keys"
  static let operands = "[ADDRESS[:PORT]]"
  static let description = """
    Shows the tactus that runs on this machine without a view, for instance as a service, or
    the one at ADDRESS, which has to listen there (--osc-listen) and obeys your keys as those
    of any controller. The view shows each beat when it sounds there. q leaves the view; that
    tactus goes on. Ends with status 69 if none answers.

      tactus view
      tactus view 192.168.7.20
      tactus view studio.local:20810
    """
  static let options: [Option<ViewCommand>] = whereaboutsOptions

  var whereabouts = Whereabouts()

  func run(_ operands: [String]) throws(UserError) -> Tactus.Status {
    guard operands.count <= 1 else { throw UserError("tactus view shows one tactus at a time", .mistyped) }
    let running: RunningTactus
    if let text = operands.first {
      running = try find(text)
    } else {
      running = try RunningTactus(whereabouts)
    }
    let keys = (try? Startup([]).configuration)?.keyMap(isElsewhere: true) ?? KeyMap(isElsewhere: true)
    let tactus = DistantTactus(at: running.place)
    guard let view = LiveView(of: tactus, keys: keys) else {
      throw UserError(
        "there is no terminal for the view: tactus status prints the state, tactus monitor each change")
    }
    let signals = Signals()
    var visit = Visit(running, tactus)
    try visit.begin(until: signals)
    view.open()
    defer { view.close() }
    if let place = tactus.place { view.tell("the tactus at \(place)", isComplaint: false) }
    while !signals.came(withinMilliseconds: 0) {
      if Signals.isDue(SIGTSTP) {
        view.cover()
        Signals.stopHere()
        view.uncover()
      }
      visit.step { view.tell($0, isComplaint: $1) }
    }
    visit.end()
    return .success
  }

  private func find(_ text: String) throws(UserError) -> RunningTactus {
    guard whereabouts == Whereabouts() else {
      throw UserError("takes an address or --osc and --name, not both", .mistyped)
    }
    guard let host = FarHost(text, usually: Table.port) else {
      throw UserError("\"\(text.shortened)\" is no address of a machine", .mistyped)
    }
    guard let endpoint = Endpoint.named(host.host, port: host.port).first else {
      throw UserError("no machine called \"\(host.host.shortened)\" is known here", .unavailable)
    }
    return try RunningTactus(at: endpoint)
  }
}

/// The conversation with the other tactus. It renews the subscription again and again, since a network may
/// lose any message, and asks for the other machine's clock.
private struct Visit: ~Copyable {
  /// A subscription's duration in seconds, and how often it is renewed: three times before it ends.
  private static let lease: Int32 = 15
  private static let renewal = Micros(5_000_000)
  private static let question = Micros(1_000_000)
  /// How long to wait for the first answer, and for later answers.
  private static let answerTimeout = Micros(2_000_000)
  private static let longestSilence = Micros(6_000_000)

  private var running: RunningTactus
  private let tactus: DistantTactus
  private var guess = ClockGuess()
  private var renewed: Micros?
  private var asked: (at: Micros, number: Int32) = (.zero, 0)
  private var heard = Micros.zero
  /// Why no messages arrive; nil: messages arrive.
  private var silence: String?
  private var lastMessage = ""

  init(_ running: consuming RunningTactus, _ tactus: DistantTactus) {
    self.running = running
    self.tactus = tactus
  }

  /// Waits for the first message. [control]
  mutating func begin(until signals: Signals) throws(UserError) {
    let deadline = Link.clock() + Self.answerTimeout
    while heard == .zero, !signals.came(withinMilliseconds: 0) {
      let now = Link.clock()
      guard now < deadline else { throw running.place == nil ? running.silence : running.nobody }
      speak(at: now)
      guard let messages = try running.receive(withinMilliseconds: 100) else { continue }
      receive(messages) { _, _ in }
    }
  }

  /// Waits for messages, a key, or a tenth of a second.
  ///
  /// - Parameter tell: takes a line for the view, and whether the user should act on it.
  mutating func step(_ tell: (String, Bool) -> Void) {
    let now = Link.clock()
    speak(at: now)
    for order in tactus.takeOrders() { running.say(order) }
    let messages: [Message]?
    do throws(UserError) {
      messages = try running.receive(withinMilliseconds: 100, orAt: tactus.keys.descriptor)
    } catch {
      // The kernel reported that no program listens there. Wait, because tactus may come back.
      messages = nil
      usleep(100_000)
    }
    tactus.keys.drain()
    if let messages { return receive(messages, tell) }
    guard Link.clock() - heard > Self.longestSilence else { return }
    fallSilent("it does not answer; the view shows its last state")
    tell(silence ?? "", true)
  }

  private mutating func fallSilent(_ why: String) {
    guard silence == nil else { return }
    silence = why
    tactus.isSilent()
  }

  func end() { running.say(Message(Table.address("unsubscribe"))) }

  private mutating func speak(at now: Micros) {
    if renewed.map({ now - $0 >= Self.renewal }) ?? true {
      renewed = now
      running.say(
        Message(Table.address("subscribe"), .int32(0), .string("state exact"), .int32(Self.lease)))
    }
    if now - asked.at >= Self.question {
      asked = (now, asked.number &+ 1)
      running.say(Message(Table.address("ping"), .int32(asked.number)))
    }
  }

  private mutating func receive(_ messages: [Message], _ tell: (String, Bool) -> Void) {
    heard = Link.clock()
    if silence != nil {
      silence = nil
      // tactus may have restarted and lost our subscription: subscribe again.
      renewed = nil
      tell("it answers again", false)
    }
    var hasEnded = false
    for message in messages {
      guard let path = Table.path(of: message.address) else { continue }
      let text: String? = if case .string(let text)? = message.arguments.first { text } else { nil }
      switch path {
      case "bye": hasEnded = true
      case "proof": running.say(message)
      case "pong":
        // Only the time of the latest ping is known.
        guard running.place != nil, message.arguments.count > 4, message.arguments[4] == .int32(asked.number),
          let theirs = message.arguments[3].number
        else { continue }
        guess.measure(asked: asked.at, answered: heard, theirs: theirs)
      case "error": if let text { tell(text, true) }
      case "message":
        guard let text, text != " ", !text.isEmpty, text != lastMessage else { continue }
        lastMessage = text
        tell(text, false)
      default: break
      }
    }
    tactus.receive(messages, ahead: guess.ahead)
    guard hasEnded else { return }
    fallSilent("tactus has ended; this view continues when it runs again, q leaves it")
    tell(silence ?? "", true)
  }
}
