// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusOSC

// States that programs read, as fixed words. These words are part of the protocol: never change one, and add
// new words before `unknown`.

/// A state that has one word for each of its values. The last case, `unknown`, is never sent: a reader uses
/// it if it receives a word that it does not know.
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
  /// The state of the transport, and why it waits.
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

  /// The transport's state as text for people.
  public var status: String {
    switch doing {
    case .none: "no JACK server"
    case .stopped: "stopped"
    case .waiting: "starts \(startWords ?? "now")"
    case .starting: "JACK waits for another client"
    case .rolling: "rolling"
    case .stopping: "stops on the \(choices.stop == .beat ? "beat" : "bar")"
    case .unknown: Self.unknown
    }
  }

  /// The boundary for which the next start waits.
  package var startMoment: LaunchMoment { askedLaunch ?? choices.launch.moment }

  /// The place within its bar from which the next start begins, in notes: 1 is the bar line, and
  /// 2.5 is the middle of the second note.
  package var startNote: Double {
    // The position is rounded to a whole frame, which may lie just before the beat.
    let place = bars.place(at: startPlace.value + 0.005)
    let isBetween = place.passed > 0.02 * choices.meter.notesPerBeat
    return Double(place.note + 1) + (isBetween ? place.passed : 0)
  }

  /// Words for the moment of the next start, such as "on the bar", or "on beat 3 of the bar" after a stop
  /// in mid-bar. nil: the start begins at once.
  package var startWords: String? {
    switch startMoment {
    case .now: return nil
    case .beat: return "on the beat"
    case .bar: break
    }
    let note = startNote
    guard note > 1 else { return "on the bar" }
    return "\(note == note.rounded() ? "on" : "in") beat \(Int(note)) of the bar"
  }

  /// The text for a state that another tactus did not send, or sent as an unknown word.
  package static let unknown = "unknown"
}

extension SurfaceState {
  /// Whether tactus has found ports whose latency decides when other programs are heard.
  public enum SinkState: UInt8, StateWord {
    case none, found
    /// No port fits `jack/sink`.
    case missing
    case unknown
  }
}

/// Fixed words for a state whose cases carry more than a word. The cases are in the order of their numbers.
struct WordTable<State: Equatable & Sendable>: Sendable {
  let cases: [(word: String, state: State)]
  /// The state for a word that a reader does not know.
  let unknown: State

  var parameter: Parameter { .word(cases.map(\.word)) }

  func value(_ state: State) -> Value {
    .word(cases.firstIndex { $0.state == state } ?? cases.count)
  }

  subscript(value: Value?) -> State {
    value.map(\.whole).flatMap { cases.indices.contains($0) ? cases[$0].state : nil } ?? unknown
  }
}

extension SurfaceState {
  static let leaders = WordTable<Lead>(
    cases: [("link", .link), ("host", .host), ("midi", .midi)], unknown: .auto)
}

extension SurfaceState.MIDIClockIn {
  /// The words for the clock's state. After the word of a locked clock its tempo is sent.
  static let words = WordTable<Self>(
    cases: [
      ("off", .off), ("silent", .silent), ("acquiring", .acquiring), ("locked", .locked(noTempo)),
      ("lost", .lost), ("echo", .echo),
    ], unknown: .unknown)
  private static let noTempo = Tempo(0)

  /// The values to send: the word, and the tempo of a locked clock in BPM, otherwise 0.
  var told: [Value] {
    if case .locked(let tempo) = self {
      return [Self.words.value(.locked(Self.noTempo)), .number(tempo.beatsPerMinute)]
    }
    return [Self.words.value(self), .number(0)]
  }

  init(told values: [Value]) {
    self = Self.words[values.first]
    if case .locked = self { self = values.count > 1 ? .locked(Tempo(values[1].number).clamped) : .unknown }
  }
}

extension SurfaceState {
  /// The words for the timebase master. After the word for another program, that program's name is sent.
  static let masters = WordTable<Master>(
    cases: [
      ("nobody", Master(.nobody)), ("tactus", Master(.tactus)), ("leaving", Master(.tactus, leaves: true)),
      ("other", Master(.other(""))),
    ], unknown: Master(.unknown))

  struct Master: Equatable {
    let timebase: Timebase
    let leaves: Bool

    init(_ timebase: Timebase, leaves: Bool = false) { (self.timebase, self.leaves) = (timebase, leaves) }
  }

  /// The values to send: the word for the timebase master, and the name of another program, otherwise an
  /// empty text.
  var timebaseTold: [Value] {
    if case .other(let name) = jack.timebase {
      return [Self.masters.value(Master(.other(""))), .text(name)]
    }
    let leaves = jack.timebase == .tactus && jack.leavesTimebase
    return [Self.masters.value(Master(jack.timebase, leaves: leaves)), .text("")]
  }

  mutating func takeTimebase(_ values: [Value]) {
    let master = Self.masters[values.first]
    (jack.timebase, jack.leavesTimebase) = (master.timebase, master.leaves)
    if case .other = jack.timebase {
      jack.timebase = .other(values.count > 1 ? values[1].text : Self.unknown)
    }
  }
}

extension PageReach {
  /// The words for the page's reach. After the word, the addresses are sent.
  static let words = WordTable<Self>(
    cases: [("off", .off), ("closed", .closed), ("here", .thisMachine("")), ("network", .network([]))],
    unknown: .unknown)

  /// The values to send: the word, the number of addresses, and the addresses.
  var told: [Value] { [Self.words.value(with([]))] + .list(addresses) }

  init(told values: [Value]) {
    let addresses = values.dropFirst().listed
    self = Self.words[values.first].with(addresses)
    if case .thisMachine("") = self { self = .unknown }
  }

  private func with(_ addresses: [String]) -> PageReach {
    switch self {
    case .thisMachine: .thisMachine(addresses.first ?? "")
    case .network: .network(addresses)
    case .off, .closed, .unknown: self
    }
  }
}

extension [Value] {
  /// The values of a list of texts: their number, then the texts.
  static func list(_ texts: [String]) -> [Value] {
    [.whole(texts.count)] + texts.map { .text(printable($0, limit: 255)) }
  }
}

extension Collection where Element == Value {
  /// The texts of a list, without the number before them.
  var listed: [String] { dropFirst().map(\.text) }
}
