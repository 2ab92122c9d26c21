// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
import Choices
public import ControlSurface
public import MIDIControl

/// What a key asks for.
public enum Action: Hashable, Sendable {
  /// To be said to the control surface.
  case press([Target])
  case redraw
  case say(String)
  /// What is shown goes on; the view does not.
  case leave
}

/// Keys as addresses of the control surface, and the little that is the view's own: its page, a tempo that is being typed, and
/// the question whether the end is meant.
public struct Keyboard: Sendable {
  /// A tempo on its way.
  public struct Typed: Hashable, Sendable {
    var text: String
    /// Why it was not taken.
    var objection: String?
    fileprivate var until: Micros
  }

  /// So long a second q counts.
  private static let resolve = Micros(3_000_000)
  /// So long an unfinished tempo waits: who touched a digit does not find Enter changed an hour later.
  private static let patience = Micros(10_000_000)
  /// Two places more than any tempo needs.
  private static let longest = 8

  public private(set) var page = Scene.Page.playing
  private let keys: KeyMap
  private var typing: Typed?
  private var askedToQuit: Micros?

  public init(_ keys: KeyMap = KeyMap()) {
    self.keys = keys
  }

  public func typed(at now: Micros) -> Typed? { typing.flatMap { now < $0.until ? $0 : nil } }

  public mutating func press(_ key: Key, _ state: SurfaceState, at now: Micros) -> Action? {
    if let typed = typed(at: now) {
      switch key {
      case .enter: return enter(typed)
      case .escape: return type("", at: now)
      case .backspace: return type(String(typed.text.dropLast()), at: now)
      case .character(let letter) where "0123456789.,".unicodeScalars.contains(letter):
        // Half of Europe's keypads have a comma.
        return type(typed.text + (letter == "," ? "." : "\(letter)"), at: now)
      // A start is a start, whatever somebody began to type.
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
    if key == .enter { return "Enter sets a tempo that is typed, and none is" }
    return "no key \(key)" + (keys.key(for: .turn).map { "; \($0) lists them" } ?? "")
  }

  /// There, and with the same key back.
  private mutating func turn(to other: Scene.Page) { page = page == other ? .playing : other }

  /// What a slip would do for longer than tonight, and how to take it back; and who is to lead from now on, which nothing else
  /// shows. nil: neither. `isKept`: what is chosen here holds at the next start, too; a tactus on another machine forgets it.
  public static func remark(
    _ targets: [Target], by key: Key, _ state: SurfaceState, isKept: Bool = true
  ) -> String? {
    let path = targets.count == 1 ? targets[0].path : ""
    if path == "lead/next" { return leads(after: state.choices.lead, key) }
    let choice: (name: String, isOn: Bool)? =
      switch path {
      case "link/toggle": ("Ableton Link", state.choices.isLinkEnabled)
      case "startstop/toggle": ("Start/stop sync", state.choices.syncsStartStop)
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

  /// What is no number's beginning is not typed.
  private mutating func type(_ text: String, at now: Micros) -> Action? {
    let isNumber = text.utf8.count <= Self.longest && text.count { $0 == "." } <= 1
    typing =
      text.isEmpty ? nil : Typed(text: isNumber ? text : String(text.dropLast()), until: now + Self.patience)
    return nil
  }

  private mutating func enter(_ typed: Typed) -> Action? {
    let target = [Target(path: "tempo", arguments: [typed.text])]
    typing?.objection = Table.standard.objection(to: target, ofKey: true)
    guard typing?.objection == nil else { return nil }
    typing = nil
    return .press(target)
  }

  /// A sleeve on the keyboard ends no concert.
  private mutating func press(_ targets: [Target], _ state: SurfaceState, at now: Micros) -> Action? {
    guard !targets.isEmpty else { return nil }
    let ends = targets.contains { $0.path == "quit" }
    if ends, keys.isElsewhere { return .leave }
    if case .stopped = state.transport { return .press(targets) }
    guard ends else { return .press(targets) }
    if let askedToQuit, now - askedToQuit < Self.resolve { return .press(targets) }
    askedToQuit = now
    return .say("The transport rolls: once more ends tactus")
  }
}
