// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusOSC

// Other rooms: distant networks with which the session is shared.
extension Table {
  static let far: [Node] =
    Node.rows(
      of: Choice(
        "link/offset", \.far.offset,
        "Corrects the beat of the other rooms: their clock is this much earlier than measured. tactus can "
          + "measure only the way there and back together. If you know that packets take longer to get there "
          + "than back, set half the difference. A change takes effect slowly, by 0.4 ms a second.",
        within: .number(FarChoices.offsets, unit: "ms"), in: .far, isRemembered: true),
      Choice(
        "link/distance", \.far.distance,
        "Plays the beats of the other rooms this much later than ours. Sound that takes this long from here "
          + "to there then arrives in time. Set it in one room only. If you change it while music plays, the "
          + "beats of one room jump by the difference.",
        within: .text(limit: 16), in: .far, written: ("Nbeats|Nbars", FarDistance.allowed), isRemembered: true
      ))
    + ofRooms

  private static let ofRooms: [Node] = [
    .order(
      "far/offset", [.text(limit: 255), .number(FarChoices.offsets, unit: "ms")],
      "Corrects the beat of one room, as link/offset does for all; both add up. First the room's name "
        + "as in --link-to, then how much earlier its clock is than measured. A change takes effect "
        + "slowly, by 0.4 ms a second."
    ) { values, _ in
      .command(.roomOffset(values[0].text, Micros(rounding: values[1].number * 1000)))
    },
    .count(
      "far", "",
      "The number of other rooms that are connected. Their beat is in time; their sound arrives "
        + "later, by its travel time."
    ) {
      $0.state.far.heard.count
    },
    .privateLabel(
      "far/str", "Each other room: its address, round trip and loss, and how far its beat may be off."
    ) {
      $0.state.far.words
    },
    rooms,
    .measured(
      "far/roundtrip", "ms",
      "The shortest measured round trip to the most distant of the connected rooms; 0 if no room is "
        + "connected."
    ) { $0.state.far.heard.compactMap(\.roundTripMilliseconds).max() ?? 0 },
    .measured(
      "far/bound", "ms",
      "The largest possible error of another room's beat: half of the round trip to that room, if the "
        + "whole delay lies in one direction."
    ) { ($0.state.far.heard.compactMap(\.roundTripMilliseconds).max() ?? 0) / 2 },
    .measured(
      "far/loss", "%",
      "The share of a room's last thousand datagrams that were lost on the way here; of several "
        + "rooms, the largest share."
    ) {
      $0.state.far.heard.compactMap(\.lossPercent).max() ?? 0
    },
    .privateLabel("far/refused", "Address of the last caller that used a wrong key or none.") {
      $0.state.far.refused
    },
    .privateLabel(
      "far/seen",
      "The address at which the other rooms see this machine: its own, or that of a router in between."
    ) { printable($0.state.far.seen.joined(separator: "; "), limit: 250) },
    .list(
      "far/seen/list",
      "The addresses of far/seen for programs: how many, and each with its port."
    ) { $0.state.far.seen }.forPaired,
    .privateLabel(
      "far/key", "Four letters that stand for this room's key: the other rooms must show the same."
    ) {
      $0.state.far.key
    },
  ]
}

/// The other rooms as controllers see them.
public struct ShownFar: Hashable, Sendable {
  public var rooms: [ShownRoom] = []
  public var refused = ""
  /// Which key is used, in words; empty: none.
  public var key = ""
  /// Why other rooms cannot be reached.
  public var failure = ""

  public init() {}

  var heard: [ShownRoom] { rooms.filter { $0.state == .proven } }

  var seen: [String] {
    var all: [String] = []
    for place in heard.compactMap(\.seen) where !all.contains(place) { all.append(place) }
    return all
  }

  /// The state of the other rooms in few words; nil: the user wants no other rooms.
  package var short: String? {
    if !failure.isEmpty { return "rooms not reachable" }
    guard !rooms.isEmpty else { return nil }
    guard let first = heard.first else { return "no other room" }
    let later = first.distanceBeats == 0 ? "" : ", \(shortest(first.distanceBeats)) beats later"
    return "\(heard.count) \(heard.count == 1 ? "room" : "rooms")\(later)"
  }

  var words: String {
    if !failure.isEmpty { return printable(failure, limit: 250) }
    return rooms.isEmpty ? "none" : printable(rooms.map(\.words).joined(separator: "; "), limit: 250)
  }
}

public struct ShownRoom: Hashable, Sendable {
  public enum State: UInt8, StateWord {
    /// The room's name resolves to no address.
    case nowhere
    case waiting, ourselves, proven, away, unknown
  }

  /// The name of the room as the user wrote it. If the room called, the address from which it
  /// called.
  public var name: String
  public var state: State
  public var roundTripMilliseconds: Double?
  public var lossPercent: Double?
  /// Two values in milliseconds: the correction for unequal travel times, and the part of this
  /// correction that is applied now.
  public var offsetMilliseconds: Double
  public var heldMilliseconds: Double
  /// By how many beats the room's grid is later than ours.
  public var distanceBeats: Double
  /// The address of this machine as the room sees it.
  public var seen: String?
  /// Whether the room does not answer, but a room at the same address has called.
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

  package var words: String {
    switch state {
    case .nowhere:
      return "\(name) has no known address: is the name right, and does this machine reach the Internet?"
    // Two rooms may share one router, so we cannot know whether the caller is the room that we call.
    case .waiting where isCalledBack:
      return
        "\(name) does not answer our calls, but a room at its address has called us: if it is the same room, the two are connected"
    case .waiting: return "\(name) does not answer: it is not running, not reachable, or has another key"
    case .ourselves: return "\(name) leads back to this tactus itself"
    case .away: return "\(name) has stopped answering"
    case .unknown: return "\(name): \(SurfaceState.unknown)"
    case .proven:
      guard let trip = roundTripMilliseconds else {
        return "\(name) is connected; its clock is being measured"
      }
      let loss = lossPercent.map { ", \(shortest($0)) % lost" } ?? ""
      let distance = distanceBeats == 0 ? "" : ", \(shortest(distanceBeats)) beats later"
      return
        "\(name) in \(shortest(trip)) ms (±\(shortest(trip / 2)) ms)\(loss)\(offset)\(distance)"
    }
  }
}

// The state of the other rooms as values for programs.
extension Table {
  private static let rooms = Node.readings(
    "far/rooms", [.whole(0...10_000), .text(limit: 255)], each: ShownRoom.parameters,
    "The number of other rooms, and the reason why none can be reached (empty: "
      + "they can). Then for each room its name, its state as a fixed word, round trip, loss, offset, "
      + "the part of the offset that is applied now, how much later its grid is, and whether a room at "
      + "its address has called. -1: not measured."
  ) {
    let far = $0.state.far
    return [.whole(far.rooms.count), .text(printable(far.failure, limit: 255))]
      + far.rooms.flatMap(\.told)
  }.restoring { state, values in
    state.far.failure = values[1].text
    let each = ShownRoom.parameters.count
    state.far.rooms = stride(from: 2, to: values.count, by: each).map {
      ShownRoom(told: Array(values[$0..<$0 + each]))
    }
  }.forPaired
}

extension ShownRoom {
  fileprivate static let parameters: [Parameter] = [
    .text(limit: 255), State.parameter, .number(-1...1e9, unit: "ms"), .number(-1...100, unit: "%"),
    .number(-1e9...1e9, unit: "ms"), .number(-1e9...1e9, unit: "ms"), .number(-1e9...1e9, unit: "beats"),
    .flag,
  ]

  fileprivate var told: [Value] {
    [
      .text(printable(name, limit: 255)), .word(Int(state.rawValue)), .number(roundTripMilliseconds ?? -1),
      .number(lossPercent ?? -1), .number(offsetMilliseconds), .number(heldMilliseconds),
      .number(distanceBeats), .flag(isCalledBack),
    ]
  }

  /// - Parameter values: one value for each of `parameters`.
  fileprivate init(told values: [Value]) {
    func measured(_ value: Value) -> Double? { value.number < 0 ? nil : value.number }
    self.init(
      name: values[0].text, state: State(told: values[1]), roundTripMilliseconds: measured(values[2]),
      lossPercent: measured(values[3]), offsetMilliseconds: values[4].number,
      heldMilliseconds: values[5].number, distanceBeats: values[6].number, isCalledBack: values[7].isOn)
  }
}

extension FarDistance: Choosable {
  static let allowed = "0, or a length such as 4beats or 2bars, up to \(most)"

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
