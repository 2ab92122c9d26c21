// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
import TactusChoices
import MIDIControl
public import TactusOSC

/// The state of another tactus, reconstructed from its OSC messages: the rows of the table, read backwards,
/// for programs that show a tactus which runs elsewhere.
///
/// It reads values and read-outs (the group `state`) and the two messages of `exact`. Values that were never
/// sent are those of a fresh state. A message that the table does not know, or with wrong arguments, changes
/// nothing.
public struct ToldState: Sendable {
  public private(set) var state = SurfaceState()
  /// Lead of its clock over this machine's; zero on the same machine.
  public var ahead = Micros.zero { didSet { if ahead != oldValue { place() } } }
  private var timeline: (tempo: Double, beat: Double, moment: Double)?
  /// Its read-out of where it listens for OSC.
  public private(set) var reach = ""
  private var health: [String: String] = [:]
  /// The quantum as it was sent last, also while it follows the bar.
  private var quantum = Quantum.bar
  private var followsBar = false

  public init() {}

  /// Takes a message and changes the state as far as it is valid.
  public mutating func take(_ message: Message) {
    guard let path = Table.path(of: message.address) else { return }
    if path.hasPrefix("out/"), takeOutput(path, message.arguments) { return }
    guard let row = Table.standard.row(path) else { return }
    if let choice = row.choice {
      if let values = try? row.accept(message.arguments) { choice.write(&state.choices, values) }
      if choice == .quantum {
        quantum = state.choices.ownQuantum
        if followsBar { state.choices.ownQuantum = .bar }
      }
      return
    }
    if path == "timeline" {
      let numbers = message.arguments.compactMap(\.number)
      guard numbers.count >= 3, numbers.allSatisfy(\.isFinite) else { return }
      timeline = (numbers[0], numbers[1], numbers[2])
      place()
    } else if path == "song" {
      state.takeSong(message.arguments)
    } else if case .string(let text)? = message.arguments.first {
      take(path, text)
    } else if let number = message.arguments.first?.number, number.isFinite {
      take(path, number)
    }
  }

  /// Sets the timeline on this machine's clock. Beat 0 is the session's, as in the message.
  private mutating func place() {
    guard let timeline else { return }
    let tempo = Tempo(timeline.tempo).clamped
    let moment = Micros(rounding: timeline.moment) - ahead
    let line = Timeline(tempo: tempo, beatOrigin: Beats(timeline.beat), timeOrigin: moment)
    state.timeline = Timeline(tempo: tempo, beatOrigin: .zero, timeOrigin: line.time(at: .zero))
  }

  private mutating func take(_ path: String, _ number: Double) {
    let count = Int(Int64(saturating: min(max(number, 0), 1e9)))
    switch path {
    case "quantum/bar":
      followsBar = number >= 0.5
      state.choices.ownQuantum = followsBar ? .bar : quantum
    case "peers": state.peers = count
    case "link/active": state.linkActive = number >= 0.5
    case "jack/connected": state.jackConnected = number >= 0.5
    case "jack/rate": state.sampleRate = count
    case "jack/period": state.framesPerCycle = count
    case "jack/xruns": state.xruns = count
    case "jack/latency/refused": state.refusedLatencies = count
    case "audio/sent/count": takeChannels(count, areSent: true)
    case "audio/received/count": takeChannels(count, areSent: false)
    case "click/connected": state.isClickConnected = number >= 0.5
    case "clock/jitter": state.jitterMicros[.clock] = number
    case "pulse/jitter": state.jitterMicros[.pulse] = number
    case "drift": state.driftPartsPerMillion = number
    case "launch/error":
      // 0.12 as a float32 reads 0.11999999731779099.
      state.launchErrorMilliseconds = (number * 100).rounded() / 100
      if number != 0 { state.hasLaunched = true }
    case "lead/error": state.leadErrorMilliseconds = number
    case "drift/lag": state.lagMilliseconds = number
    case "bend/ahead": state.aheadMilliseconds = (number * 10).rounded() / 10
    default: break
    }
  }

  private mutating func take(_ path: String, _ text: String) {
    switch path {
    case "jack/name": state.clientName = text
    case "jack/sink/str": state.sinks = text
    case "jack/timebase/str":
      state.leavesTimebase = text == SurfaceState.leavingMaster
      state.timebase =
        text == SurfaceState.Timebase.nobody.name
        ? .nobody
        : text == SurfaceState.Timebase.tactus.name || state.leavesTimebase ? .tactus : .other(text)
    case "lead/str":
      state.leading = text == SurfaceState.link ? .link : text == SurfaceState.clock ? .midi : .host
    case "lead/midi/str": state.midiClock = SurfaceState.MIDIClockIn(told: text) ?? .off
    case "far/str": state.far = ShownFar(told: text)
    case "web/str": state.page = PageReach(told: text) ?? .off
    case "status": state.status = text
    case "message": state.message = text
    case "osc/str": reach = text
    case "out/list": takeOutputs(text)
    case "audio/sent": state.audio.toldSent = text
    case "audio/received": state.audio.toldReceived = text
    default: break
    }
  }

  /// Sets the number of channels; their descriptions come as text.
  private mutating func takeChannels(_ count: Int, areSent: Bool) {
    state.audio.channels.removeAll { $0.isSent == areSent }
    let channel = ShownChannel(name: "", isSent: areSent)
    state.audio.channels += Array(repeating: channel, count: min(count, SurfaceLimits.shownChannels))
  }

  /// The names in `a (words), b (words)`, or in `a, b`.
  private static func listed(_ text: String) -> [String] {
    guard text != "none", text != " " else { return [] }
    let separator = text.contains(" (") ? "), " : ", "
    return text.split(separator: separator).map { part in
      String(part[..<(part.firstRange(of: " (")?.lowerBound ?? part.endIndex)])
    }
  }

  private mutating func takeOutputs(_ text: String) {
    state.outputs = Self.listed(text).prefix(OutputSettings.limit).filter(NamedOutput.isName).map {
      NamedOutput(name: $0, settings: OutputSettings(.clock))
    }
    showHealth()
  }

  /// Takes `out/NAME/state`; other messages about an output are ignored. Returns false if the address is not
  /// an output's own.
  private mutating func takeOutput(_ path: String, _ arguments: [Argument]) -> Bool {
    let parts = path.split(separator: "/").map(String.init)
    guard parts.count == 3 else { return false }
    guard parts[2] == "state", NamedOutput.isName(parts[1]), case .string(let doing)? = arguments.first else {
      return true
    }
    guard health[parts[1]] != nil || health.count < OutputSettings.limit else { return true }
    health[parts[1]] = doing
    showHealth()
    return true
  }

  private mutating func showHealth() {
    let names = Set(state.outputs.map(\.name))
    state.outputHealth = health.filter { names.contains($0.key) }.mapValues { doing in
      var health = OutputHealth()
      health.state = doing
      return health
    }
  }
}

extension Table {
  /// The message that a key sends to a tactus which runs elsewhere; nil: there is no such address.
  package func message(_ target: Target) -> Message? {
    guard let row = row(target.path) else {
      // Only the running program knows which outputs exist.
      return try? message([target.path] + target.arguments)
    }
    return Message(Table.address(target.path), arguments: row.said(by: target))
  }
}
