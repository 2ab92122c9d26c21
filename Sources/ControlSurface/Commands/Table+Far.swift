// SPDX-License-Identifier: GPL-2.0-or-later
import OSC

// Other rooms: the session over a distance.
extension Table {
  static let far: [Node] = [
    .count("far", "", "Other rooms that are heard. Their beat is in time; sound from there takes its way.") {
      $0.state.far.heard.count
    },
    .label(
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
    .label("far/refused", "Where somebody spoke last who has another key, or none.") { $0.state.far.refused },
    .label(
      "far/seen", "Where the other rooms see this machine: its own address, or that of a router in between."
    ) { $0.state.far.seen },
    .label("far/key", "Four letters of the key that this room has: compare them with the other room's.") {
      $0.state.far.key
    },
  ]
}

/// The other rooms as they are shown.
public struct ShownFar: Hashable, Sendable {
  public var rooms: [ShownRoom] = []
  public var refused = ""
  /// Which key it is; empty: none.
  public var key = ""
  /// Why there is no way to them.
  public var failure = ""

  public init() {}

  /// As far as `words` says it: which rooms, and whether they are heard.
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

  /// nil: none are wanted.
  package var short: String? {
    if !failure.isEmpty { return "no way to other rooms" }
    guard !rooms.isEmpty else { return nil }
    return heard.isEmpty ? "no other room" : "\(heard.count) \(heard.count == 1 ? "room" : "rooms")"
  }

  var words: String {
    if !failure.isEmpty { return printable(failure, limit: 250) }
    return rooms.isEmpty ? Self.none : printable(rooms.map(\.words).joined(separator: "; "), limit: 250)
  }
}

public struct ShownRoom: Hashable, Sendable {
  public enum State: Sendable {
    case waiting, proven, away
  }

  /// As it was written, or where it called from.
  public var name: String
  public var state: State
  public var roundTripMilliseconds: Double?
  public var lossPercent: Double?
  /// What somebody knows of the two ways.
  public var offsetMilliseconds: Double
  /// How much later its grid is.
  public var distanceBeats: Double
  /// Where it sees this machine.
  public var seen: String?

  public init(
    name: String, state: State, roundTripMilliseconds: Double?, lossPercent: Double?,
    offsetMilliseconds: Double, distanceBeats: Double = 0, seen: String? = nil
  ) {
    self.name = name
    self.state = state
    self.roundTripMilliseconds = roundTripMilliseconds
    self.lossPercent = lossPercent
    self.offsetMilliseconds = offsetMilliseconds
    self.distanceBeats = distanceBeats
    self.seen = seen
  }

  private static let silence = "does not answer: it is not there, or has another key"
  private static let absence = "is away"
  private static let measuring = "is there, its clock is being measured"
  private static let bound = " ms (±"

  var words: String {
    switch state {
    case .waiting: return "\(name) \(ShownRoom.silence)"
    case .away: return "\(name) \(ShownRoom.absence)"
    case .proven:
      guard let trip = roundTripMilliseconds else { return "\(name) \(ShownRoom.measuring)" }
      let loss = lossPercent.map { ", \(shortest($0)) % lost" } ?? ""
      let offset = offsetMilliseconds == 0 ? "" : ", offset \(shortest(offsetMilliseconds)) ms"
      let distance = distanceBeats == 0 ? "" : ", \(shortest(distanceBeats)) beats later"
      return
        "\(name) in \(shortest(trip))\(ShownRoom.bound)\(shortest(trip / 2)) ms)\(loss)\(offset)\(distance)"
    }
  }

  /// Of a room as `words` has it, which is told by `far/str`; nil: these are of no room.
  package static func state(told words: some StringProtocol) -> State? {
    if words.hasSuffix(silence) { return .waiting }
    if words.hasSuffix(absence) { return .away }
    return words.contains(bound) || words.hasSuffix(measuring) ? .proven : nil
  }
}
