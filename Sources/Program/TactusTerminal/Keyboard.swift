// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath
import TactusChoices
public import TactusMIDI
public import TactusSurface

/// The effect of a key.
public enum Action: Hashable, Sendable {
  /// A command to the control surface.
  case press([Target])
  case redraw
  case say(String)
  /// Ends the view, not the tactus that it shows.
  case leave
}

/// Turns keys into addresses of the control surface. Its state is only the view's own: the page, a tempo that
/// the user is typing, and whether a `q` waits for its confirmation.
public struct Keyboard: Sendable {
  /// A tempo that is being typed.
  public struct OptionValueType: Hashable, Sendable {
    var text: String
    /// Why the typed tempo was refused; nil: it was not refused.
    var objection: String?
    fileprivate var until: Micros
  }

  /// How long a `q` waits for a second `q` as confirmation.
  private static let resolve = Micros(3_000_000)
  /// How long an unfinished tempo stays. A digit that was touched by accident must not change what Enter does
  /// an hour later.
  private static let typingTimeout = Micros(10_000_000)
  /// The address that shifts the click, and how long the click's offset stays on the screen after its key.
  static let tuning = "click/offset/nudge"
  private static let tuningTime = Micros(4_000_000)
  /// The length limit of a typed tempo: two characters more than any tempo needs.
  private static let longest = 8

  public private(set) var page = Scene.Page.playing
  private let keys: KeyMap
  private var typing: OptionValueType?
  private var askedToQuit: Micros?
  private var tuned: Micros?

  public init(_ keys: KeyMap = KeyMap()) {
    self.keys = keys
  }

  public func typed(at now: Micros) -> OptionValueType? { typing.flatMap { now < $0.until ? $0 : nil } }

  public func isTuning(at now: Micros) -> Bool { tuned.map { now - $0 < Self.tuningTime } ?? false }

  public mutating func press(_ key: Key, _ state: SurfaceState, at now: Micros) -> Action? {
    if let typed = typed(at: now) {
      switch key {
      case .enter: return enter(typed)
      case .escape: return type("", at: now)
      case .backspace: return type(String(typed.text.dropLast()), at: now)
      case .character(let letter) where "0123456789.,".unicodeScalars.contains(letter):
        // Accept a comma as the decimal point: many European keypads have a comma.
        return type(typed.text + (letter == "," ? "." : "\(letter)"), at: now)
      // Any other key does what it always does, and ends the typing.
      case .character, .up, .down, .left, .right, .pageUp, .pageDown, .home: typing = nil
      }
    }
    if key == .escape {
      page = .playing
      return nil
    }
    guard let key = keys.bound(key) else { return .say(unbound(key)) }
    switch keys.viewAction(of: key) {
    case .turn: turn(to: .keys)
    case .code: turn(to: .code)
    case .tempo: return type("\(key)", at: now)
    case .redraw: return .redraw
    case nil: return press(keys.targets(of: key), state, at: now)
    }
    return nil
  }

  private func unbound(_ key: Key) -> String {
    if key == .enter { return "Enter sets the tempo that you have typed: type one first" }
    return "no key \(key)" + (keys.key(for: .turn).map { "; \($0) lists them" } ?? "")
  }

  /// Turns to the page `other`, or back to the first page if `other` is shown already.
  private mutating func turn(to other: Scene.Page) { page = page == other ? .playing : other }

  /// A remark after a key that changed a lasting choice; nil: no remark. It gives the new value, and how to
  /// undo the change, since the user may have hit the key by mistake. For the leader's key it also names the
  /// next leader. `isKept`: whether the choice also holds at the next start; a tactus on another machine
  /// forgets it.
  public static func remark(
    _ targets: [Target], by key: Key, _ state: SurfaceState, isKept: Bool = true
  ) -> String? {
    let path = targets.count == 1 ? targets[0].path : ""
    if path == "lead/next" { return leads(after: state.choices.lead, key) }
    if path == "stop/at/next" { return stands(after: state.choices.stopPlace, key) }
    let choice: (name: String, isOn: Bool)? =
      switch path {
      case "link/toggle": ("Ableton Link", state.choices.isLinkEnabled)
      case "startstop/toggle": ("Start/stop sync", state.choices.syncsStartStop)
      case "song/sync/toggle": ("Song sync", state.choices.syncsSong)
      case "click/toggle": ("Click", state.choices.click.isOn)
      case "clock/toggle": ("MIDI clock", state.choices.clock.isOn)
      case "pulse/toggle": ("Pulses", state.choices.pulse.isOn)
      default: nil
      }
    return choice.map {
      let time = isKept ? "also at the next start" : "until that tactus ends"
      return "\($0.name): \($0.isOn ? "off" : "on"), \(time); \(key) takes that back"
    }
  }

  private static func leads(after lead: Lead, _ key: Key) -> String {
    switch lead {
    case .link: "Leads: host, the JACK program that is timebase master; \(key) goes on to auto"
    case .host: "Leads: auto, JACK's timebase master or else Link; \(key) goes on to midi"
    case .auto: "Leads: midi, a MIDI clock at the port control; \(key) goes on to link"
    case .midi: "Leads: link, the Ableton Link session; \(key) goes on to host"
    }
  }

  private static func stands(after place: StopPlace, _ key: Key) -> String {
    switch place {
    case .here: "After a stop: back to the bar; \(key) again: back to the start"
    case .bar: "After a stop: back to the start; \(key) again: stay where it stopped"
    case .start: "After a stop: stay where it stopped; \(key) again: back to the bar"
    }
  }

  /// Takes over the typed text; ignores a character that can't continue a number.
  private mutating func type(_ text: String, at now: Micros) -> Action? {
    let isNumber = text.utf8.count <= Self.longest && text.count { $0 == "." } <= 1
    typing =
      text.isEmpty
      ? nil
      : OptionValueType(text: isNumber ? text : String(text.dropLast()), until: now + Self.typingTimeout)
    return nil
  }

  private mutating func enter(_ typed: OptionValueType) -> Action? {
    let target = [Target(path: "tempo", arguments: [typed.text])]
    typing?.objection = Table.standard.objection(to: target, ofKey: true)
    guard typing?.objection == nil else { return nil }
    typing = nil
    return .press(target)
  }

  /// While the transport rolls, the user must press `q` twice to quit. A sleeve on the keyboard must not
  /// end a concert.
  private mutating func press(_ targets: [Target], _ state: SurfaceState, at now: Micros) -> Action? {
    guard !targets.isEmpty else { return nil }
    if targets.contains(where: { $0.path == Self.tuning }) { tuned = now }
    let ends = targets.contains { $0.path == "quit" }
    if ends, keys.isElsewhere { return .leave }
    if case .stopped = state.transport { return .press(targets) }
    guard ends else { return .press(targets) }
    if let askedToQuit, now - askedToQuit < Self.resolve { return .press(targets) }
    askedToQuit = now
    return .say("The transport rolls: the same key again ends tactus")
  }
}
