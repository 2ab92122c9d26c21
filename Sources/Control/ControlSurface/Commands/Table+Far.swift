// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import TactusChoices
import TactusOSC

// Other rooms: the session over a distance.
extension Table {
  static let far: [Node] =
    Node.rows(
      of: Choice(
        "link/offset", \.far.offset,
        "The other rooms are so much earlier than measured: half of what the way there is known to take longer than the way back. "
          + "Changed while it plays, it comes in by 0.4 ms a second.",
        within: .number(FarChoices.offsets, unit: "ms"), in: .far, isRemembered: true),
      Choice(
        "link/distance", \.far.distance,
        "The grids of the other rooms are so much later: sound from here that takes that long is in time there. On one side only. "
          + "Changed while it plays, the beats of one room go forward by as many at once.",
        within: .text(limit: 16), in: .far, written: ("Nbeats|Nbars", FarDistance.allowed), isRemembered: true
      ))
    + ofRooms

  private static let ofRooms: [Node] = [
    .order(
      "far/offset", [.text(limit: 255), .number(FarChoices.offsets, unit: "ms")],
      "The room that is called by this name (--link-to) is so much earlier than measured, beside link/offset. It comes in as slowly."
    ) { values, _ in
      .command(.roomOffset(values[0].text, Micros(rounding: values[1].number * 1000)))
    },
    .count("far", "", "Other rooms that are heard. Their beat is in time; sound from there takes its way.") {
      $0.state.far.heard.count
    },
    .privateLabel(
      "far/str", "Each other room: where it is, its round trip, what is lost, and by how much it may be off."
    ) {
      $0.state.far.words
    },
    .measured(
      "far/roundtrip", "ms", "The longest fastest round trip to another room that is heard; 0 without one."
    ) { $0.state.far.heard.compactMap(\.roundTripMilliseconds).max() ?? 0 },
    .measured(
      "far/bound", "ms",
      "By so much another room's beat may be off at most: half of that round trip, if all of it is spent on one way."
    ) { ($0.state.far.heard.compactMap(\.roundTripMilliseconds).max() ?? 0) / 2 },
    .measured(
      "far/loss", "%", "What is lost on the way here, of the last thousand datagrams, in the worst case."
    ) {
      $0.state.far.heard.compactMap(\.lossPercent).max() ?? 0
    },
    .privateLabel("far/refused", "Where somebody spoke last who has another key, or none.") {
      $0.state.far.refused
    },
    .privateLabel(
      "far/seen", "Where the other rooms see this machine: its own address, or that of a router in between."
    ) { $0.state.far.seen },
    .privateLabel(
      "far/key", "Four letters of the key that this room has: compare them with the other room's."
    ) {
      $0.state.far.key
    },
  ]
}

/// The other rooms as they are shown.
public struct ShownFar: Hashable, Sendable {
  public var rooms: [ShownRoom] = []
  public var refused = ""
  /// Which key is used; empty: none.
  public var key = ""
  /// Why other rooms cannot be reached.
  public var failure = ""

  public init() {}

  /// Reads `words`, as far as they tell: the rooms, and their states.
  init(told words: String) {
    guard words != Self.none, words != " " else { return }
    rooms = words.split(separator: ";").compactMap { text in
      let text = text.drop { $0 == " " }
      return ShownRoom.state(told: text).map {
        ShownRoom(
          name: String(text), state: $0, roundTripMilliseconds: nil, lossPercent: nil, offsetMilliseconds: 0)
      }
    }
    if rooms.isEmpty { failure = words }
  }

  private static let none = "none"

  var heard: [ShownRoom] { rooms.filter { $0.state == .proven } }

  var seen: String {
    var all: [String] = []
    for place in heard.compactMap(\.seen) where !all.contains(place) { all.append(place) }
    return printable(all.joined(separator: "; "), limit: 250)
  }

  /// nil: no rooms are wanted.
  package var short: String? {
    if !failure.isEmpty { return "no way to other rooms" }
    guard !rooms.isEmpty else { return nil }
    guard let first = heard.first else { return "no other room" }
    let later = first.distanceBeats == 0 ? "" : ", \(shortest(first.distanceBeats)) beats later"
    return "\(heard.count) \(heard.count == 1 ? "room" : "rooms")\(later)"
  }

  var words: String {
    if !failure.isEmpty { return printable(failure, limit: 250) }
    return rooms.isEmpty ? Self.none : printable(rooms.map(\.words).joined(separator: "; "), limit: 250)
  }
}

public struct ShownRoom: Hashable, Sendable {
  public enum State: Sendable {
    case unknown, waiting, ourselves, proven, away
  }

  /// As the user wrote it, or the address from which it called.
  public var name: String
  public var state: State
  public var roundTripMilliseconds: Double?
  public var lossPercent: Double?
  /// The known correction for unequal travel times, and how much of it is applied by now.
  public var offsetMilliseconds: Double
  public var heldMilliseconds: Double
  /// How much later the room's grid is.
  public var distanceBeats: Double
  /// The address at which the room sees this machine.
  public var seen: String?
  /// The room does not answer, but a room at its address has called.
  public var isCalledBack: Bool

  public init(
    name: String, state: State, roundTripMilliseconds: Double?, lossPercent: Double?,
    offsetMilliseconds: Double, heldMilliseconds: Double? = nil, distanceBeats: Double = 0,
    seen: String? = nil, isCalledBack: Bool = false
  ) {
    self.name = name
    self.state = state
    self.roundTripMilliseconds = roundTripMilliseconds
    self.lossPercent = lossPercent
    self.offsetMilliseconds = offsetMilliseconds
    self.heldMilliseconds = heldMilliseconds ?? offsetMilliseconds
    self.distanceBeats = distanceBeats
    self.seen = seen
    self.isCalledBack = isCalledBack
  }

  private var offset: String {
    guard heldMilliseconds == offsetMilliseconds else {
      return ", offset \(shortest(heldMilliseconds)) of \(shortest(offsetMilliseconds)) ms"
    }
    return offsetMilliseconds == 0 ? "" : ", offset \(shortest(offsetMilliseconds)) ms"
  }

  private static let nowhere = "has no address: is the name right, and is there a way to the Internet?"
  private static let silence = "does not answer: it is not there, or has another key"
  /// We cannot know whether the caller is that room: two rooms may share one router.
  package static let callsBack =
    "does not answer, but a room at its address called: if that is it, this is enough"
  private static let itself = "is this tactus itself"
  private static let absence = "is away"
  private static let measuring = "is there, its clock is being measured"
  private static let bound = " ms (±"

  var words: String {
    switch state {
    case .unknown: return "\(name) \(ShownRoom.nowhere)"
    case .waiting: return "\(name) \(isCalledBack ? ShownRoom.callsBack : ShownRoom.silence)"
    case .ourselves: return "\(name) \(ShownRoom.itself)"
    case .away: return "\(name) \(ShownRoom.absence)"
    case .proven:
      guard let trip = roundTripMilliseconds else { return "\(name) \(ShownRoom.measuring)" }
      let loss = lossPercent.map { ", \(shortest($0)) % lost" } ?? ""
      let distance = distanceBeats == 0 ? "" : ", \(shortest(distanceBeats)) beats later"
      return
        "\(name) in \(shortest(trip))\(ShownRoom.bound)\(shortest(trip / 2)) ms)\(loss)\(offset)\(distance)"
    }
  }

  /// Reads the state from the text that `words` makes and `far/str` sends; nil: it is not about a room.
  package static func state(told words: some StringProtocol) -> State? {
    if words.hasSuffix(nowhere) { return .unknown }
    if words.hasSuffix(silence) || words.hasSuffix(callsBack) { return .waiting }
    if words.hasSuffix(itself) { return .ourselves }
    if words.hasSuffix(absence) { return .away }
    return words.contains(bound) || words.hasSuffix(measuring) ? .proven : nil
  }
}

extension FarDistance: Choosable {
  static let allowed = "0, or as 4beats or 2bars, up to \(most)"

  public var values: [Value]? { [.text(word)] }

  public var word: String {
    switch self {
    case .beats(0), .bars(0): "0"
    case .beats(let count): count == 1 ? "1beat" : "\(count)beats"
    case .bars(let count): count == 1 ? "1bar" : "\(count)bars"
    }
  }

  public init(_ values: [Value]) throws(Refusal) {
    let text = values[0].text
    let digits = text.prefix { "0"..."9" ~= $0 }
    guard let count = Int32(digits), (0...Self.most).contains(count) else { throw .range(Self.allowed) }
    switch text.dropFirst(digits.count) {
    case "beat", "beats": self = .beats(count)
    case "bar", "bars": self = .bars(count)
    case "" where count == 0: self = .beats(0)
    default: throw .range(Self.allowed)
    }
  }
}
