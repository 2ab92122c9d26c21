// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
import Choices
public import ControlSurface

/// What a key asks for.
public enum Action: Sendable {
  case command(Command)
  /// Another page, or back.
  case turn
  case close
  case redraw
  case say(String)
  case quit
}

/// Keys as the commands of the control surface. Two quick presses add up, as they do there.
public struct Hands {
  /// A tempo asked for is the ground for the next step until the session shows it, or so long.
  private static let expectation = Micros(500_000)
  /// So long a second q counts.
  private static let resolve = Micros(3_000_000)

  private var taps = Taps()
  private var gate = TempoGate<Void>()
  private var expected: (tempo: Double, until: Micros)?
  private var askedToQuit: Micros?

  public init() {}

  /// When `due` has something, if nothing is pressed before.
  public var deadline: Micros? { gate.deadline }

  /// A tempo that had to wait: a held key sends thirty a second, and each goes to every peer.
  public mutating func due(at now: Micros) -> Action? {
    gate.due(at: now).map { .command(.tempo(Tempo($0.tempo))) }
  }

  public mutating func press(_ key: Key, _ state: SurfaceState, at now: Micros) -> Action? {
    switch key {
    case .up: step(1, state, at: now)
    case .down: step(-1, state, at: now)
    case .right: step(0.1, state, at: now)
    case .left: step(-0.1, state, at: now)
    case .pageUp: step(10, state, at: now)
    case .pageDown: step(-10, state, at: now)
    case .home: .command(.rewind)
    case .enter: tap(at: now)
    case .escape: .close
    case .character(let letter): press(letter, state, at: now)
    }
  }

  private mutating func press(_ letter: Unicode.Scalar, _ state: SurfaceState, at now: Micros) -> Action? {
    switch letter {
    case " ": .command(.toggle)
    case "t": tap(at: now)
    case "+", "=": step(1, state, at: now)
    case "-": step(-1, state, at: now)
    case "[": choose("quantum", .number(max(1, state.choices.quantum - 1)))
    case "]": choose("quantum", .number(min(64, state.choices.quantum + 1)))
    case "a": choose("link", .flag(!state.choices.isLinkEnabled))
    case "s": choose("startstop", .flag(!state.choices.syncsStartStop))
    case "l": choose("lead", .word((Int(state.choices.lead.rawValue) + 1) % Lead.allCases.count))
    case "m": choose("click", .flag(!state.choices.click.isOn))
    case "c": choose("clock", .flag(!state.choices.clock.isOn))
    case "p": choose("pulse", .flag(!state.choices.pulse.isOn))
    case "?", "h": .turn
    case "q": quit(state, at: now)
    case "\u{0C}": .redraw
    default: nil
    }
  }

  private func choose(_ path: String, _ value: Value) -> Action? {
    Table.standard.choices.first { $0.path == path }.map { .command(.choose($0, [value])) }
  }

  /// From hundredth to hundredth: what the session rounds does not add up.
  private mutating func step(_ amount: Double, _ state: SurfaceState, at now: Micros) -> Action? {
    var ground = state.tempo.beatsPerMinute
    if let expected, now < expected.until { ground = expected.tempo }
    let tempo = Tempo(((ground * 100).rounded() + amount * 100) / 100).clamped.beatsPerMinute
    expected = (tempo, now + Self.expectation)
    return gate.offer(tempo, from: (), at: now).map { .command(.tempo(Tempo($0.tempo))) }
  }

  private mutating func tap(at now: Micros) -> Action? {
    guard let tempo = taps.tap(at: now) else { return nil }
    expected = (tempo, now + Self.expectation)
    return gate.offer(tempo, from: (), at: now).map { .command(.tempo(Tempo($0.tempo))) }
  }

  /// A sleeve on the keyboard ends no concert.
  private mutating func quit(_ state: SurfaceState, at now: Micros) -> Action {
    if case .stopped = state.transport { return .quit }
    if let askedToQuit, now - askedToQuit < Self.resolve { return .quit }
    askedToQuit = now
    return .say("The transport rolls: q once more ends tactus")
  }
}
