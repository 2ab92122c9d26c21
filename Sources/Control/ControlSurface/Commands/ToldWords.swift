// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import TactusOSC

// States that programs read, as fixed words. The words are a part of the protocol: change no word, and add
// new ones before `unknown`.

/// A state with one word for each of its values. `unknown` is the last case and is no word: a reader takes a
/// word that it does not know for it.
protocol StateWord: Word {}

extension StateWord {
  static var parameter: Parameter { .word(allCases.dropLast().map(\.word)) }

  init(told value: Value?) {
    let cases = Array(Self.allCases)
    let index = value?.whole ?? cases.count
    self = cases.indices.contains(index) ? cases[index] : cases[cases.count - 1]
  }
}

extension SurfaceState {
  /// The state of the transport, with the reason why it waits.
  public enum Doing: UInt8, StateWord {
    /// There is no JACK server.
    case none
    case stopped
    /// A start waits for its beat or bar.
    case waiting
    /// JACK waits for another client, which does not get ready.
    case starting
    case rolling
    /// A stop waits for its beat or bar.
    case stopping
    case unknown
  }

  /// The transport's state as text.
  public var status: String {
    switch doing {
    case .none: "no JACK server"
    case .stopped: "stopped"
    case .waiting: "starts \(startMoment)"
    case .starting: "JACK waits for another client"
    case .rolling: "rolling"
    case .stopping: "stops on the \(choices.stop == .beat ? "beat" : "bar")"
    case .unknown: Self.unknown
    }
  }

  /// When a start that waits begins. After a stop in mid-bar it begins there, and not with the bar.
  private var startMoment: String {
    switch askedLaunch ?? choices.launch.moment {
    case .now: return "now"
    case .beat: return "on the beat"
    case .bar: break
    }
    // A place is a whole frame, which may lie just before its beat.
    let place = bars.place(at: startPlace.value + 0.005)
    let isBetween = place.passed > 0.02 * choices.meter.notesPerBeat
    if place.note == 0, !isBetween { return "on the bar" }
    return "\(isBetween ? "in" : "on") beat \(place.note + 1) of the bar"
  }

  /// Text for a state that another tactus did not tell, or told in an unknown word.
  package static let unknown = "unknown"
}

extension SurfaceState {
  /// Whether there are ports whose latency counts for other programs.
  public enum SinkState: UInt8, StateWord {
    case none, found
    /// No port fits `jack/sink`.
    case missing
    case unknown
  }
}

extension SurfaceState {
  enum LeadingWord: UInt8, StateWord {
    case link, host, midi, unknown
  }

  var leadingWord: LeadingWord {
    get {
      switch leading {
      case .link: .link
      case .host: .host
      case .midi: .midi
      case .auto: .unknown
      }
    }
    set {
      switch newValue {
      case .link: leading = .link
      case .host: leading = .host
      case .midi: leading = .midi
      case .unknown: leading = .auto
      }
    }
  }
}

extension SurfaceState.MIDIClockIn {
  enum Kind: UInt8, StateWord {
    case off, silent, acquiring, locked, lost, echo, unknown
  }

  var kind: Kind {
    switch self {
    case .off: .off
    case .silent: .silent
    case .acquiring: .acquiring
    case .locked: .locked
    case .lost: .lost
    case .echo: .echo
    case .unknown: .unknown
    }
  }

  /// The kind, and the tempo of a locked clock, else 0.
  var told: [Value] {
    if case .locked(let tempo) = self { return [.word(Int(kind.rawValue)), .number(tempo.beatsPerMinute)] }
    return [.word(Int(kind.rawValue)), .number(0)]
  }

  init(told values: [Value]) {
    switch Kind(told: values.first) {
    case .off: self = .off
    case .silent: self = .silent
    case .acquiring: self = .acquiring
    case .locked: self = values.count > 1 ? .locked(Tempo(values[1].number).clamped) : .unknown
    case .lost: self = .lost
    case .echo: self = .echo
    case .unknown: self = .unknown
    }
  }
}

extension SurfaceState {
  enum TimebaseKind: UInt8, StateWord {
    case nobody, tactus, leaving, other, unknown
  }

  /// The kind of timebase master, and the name of another program, else nothing.
  var timebaseTold: [Value] {
    let (kind, name): (TimebaseKind, String) =
      switch timebase {
      case .nobody: (.nobody, "")
      case .tactus: (leavesTimebase ? .leaving : .tactus, "")
      case .other(let name): (.other, name)
      case .unknown: (.unknown, "")
      }
    return [.word(Int(kind.rawValue)), .text(name)]
  }

  mutating func takeTimebase(_ values: [Value]) {
    let kind = TimebaseKind(told: values.first)
    leavesTimebase = kind == .leaving
    timebase =
      switch kind {
      case .nobody: .nobody
      case .tactus, .leaving: .tactus
      case .other: .other(values.count > 1 ? values[1].text : Self.unknown)
      case .unknown: .unknown
      }
  }
}

extension PageReach {
  enum Kind: UInt8, StateWord {
    case off, closed, here, network, unknown
  }

  var kind: Kind {
    switch self {
    case .off: .off
    case .closed: .closed
    case .thisMachine: .here
    case .network: .network
    case .unknown: .unknown
    }
  }

  /// The kind, the number of addresses, and the addresses.
  var told: [Value] { [.word(Int(kind.rawValue))] + .list(addresses) }

  init(told values: [Value]) {
    let addresses = values.dropFirst().listed
    switch Kind(told: values.first) {
    case .off: self = .off
    case .closed: self = .closed
    case .here: self = addresses.first.map(PageReach.thisMachine) ?? .unknown
    case .network: self = .network(addresses)
    case .unknown: self = .unknown
    }
  }
}

extension [Value] {
  /// The number of texts, and the texts.
  static func list(_ texts: [String]) -> [Value] {
    [.whole(texts.count)] + texts.map { .text(printable($0, limit: 255)) }
  }
}

extension Collection where Element == Value {
  /// The texts behind their number, as far as they are there.
  var listed: [String] { dropFirst().map(\.text) }
}
