// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAddresses
import LinkSystem
import TactusOSC
import TactusSurface

/// Examines the links to other rooms by what the running tactus reports: whether the other room is there, the
/// round trip time, the loss, how far apart the beats can be, the key in use, and whether a router translates
/// addresses.
enum RoomsExamination {
  private static let topic = "Other rooms"
  /// Limits for a warning, in percent and milliseconds. A worse link still works, but a tempo or a start may
  /// take a second to arrive.
  private static let muchLoss = 10.0
  private static let muchTime = 500.0

  /// Returns the findings about the other rooms. `own`: the addresses of this machine.
  static func judge(_ told: RemoteValues, _ who: String, own: [Address] = ownAddresses) -> [Finding] {
    let far = told.state.far
    guard !far.rooms.isEmpty || !far.failure.isEmpty else { return [] }
    let who = who.isEmpty ? "" : "\(who.dropLast()): "
    let failure = far.failure.isEmpty ? [] : [unreachable(far.failure, who)]
    return failure + far.rooms.compactMap { room($0, who) }
      + figures(told, who) + key(told, who) + router(told, who, own) + stranger(told, who)
  }

  private static func unreachable(_ failure: String, _ who: String) -> Finding {
    .bad(
      topic, who + "they can't be reached (\(failure))",
      mend: "Check this machine's network; tactus tries again every second.")
  }

  private static func room(_ room: ShownRoom, _ who: String) -> Finding? {
    let words = room.words
    return switch room.state {
    case .nowhere:
      .bad(
        topic, who + words,
        mend:
          "Correct the name after --link-to, or write the other room's IP address there; tactus looks the "
          + "name up again every ten seconds."
      )
    case .ourselves:
      .bad(
        topic, who + words,
        mend:
          "Write the other room's address after --link-to. Only one of two rooms needs --link-to; the "
          + "other needs only --link-accept."
      )
    case .waiting where room.isCalledBack:
      .good(topic, who + words + ", and --link-to is not needed here")
    case .waiting:
      .bad(
        topic, who + words,
        mend:
          "Check in the other room: does tactus run with --link-accept, does the router forward UDP port "
          + "20819 to that machine, and does tactus doctor show the same four letters of the key as here?")
    case .away:
      .bad(
        topic, who + words + "; both rooms play on",
        mend: "Check the Internet connection of both rooms; tactus keeps calling.")
    case .proven: .good(topic, who + words)
    case .unknown: nil
    }
  }

  private static func figures(_ told: RemoteValues, _ who: String) -> [Finding] {
    var findings: [Finding] = []
    if let loss = Double(told.words("far/loss")), loss >= muchLoss {
      findings.append(
        .note(
          topic,
          who
            + "\(shortest(loss)) % of the packets from the other rooms are lost: a tempo or a start may "
            + "arrive a second late",
          mend: "Use a cable instead of Wi-Fi, in both rooms."))
    }
    if let trip = Double(told.words("far/roundtrip")), trip >= muchTime {
      findings.append(
        .note(
          topic,
          who + "a packet takes \(shortest(trip)) ms there and back, so the beats of the rooms may be "
            + "\(shortest(trip / 2)) ms apart"
        ))
    }
    return findings
  }

  private static func key(_ told: RemoteValues, _ who: String) -> [Finding] {
    switch told.words("far/key") {
    case "?": []
    case "":
      [
        .note(
          topic,
          who
            + "no key is set: every machine that can send to this one from a private address may join the "
            + "session",
          mend: "If you do not trust all machines in that network, make a key: tactus far-key.")
      ]
    case let name:
      [
        .good(
          topic,
          who + "the key of this room has the letters \"\(name)\": the other rooms must show the same four")
      ]
    }
  }

  private static func router(_ told: RemoteValues, _ who: String, _ own: [Address]) -> [Finding] {
    let places = told.list("far/seen/list").compactMap { Endpoint.split($0).flatMap { Address($0.host) } }
    guard let translated = places.first(where: { place in !own.contains { $0.isSame(as: place) } }) else {
      return places.isEmpty
        ? []
        : [
          .good(
            topic,
            who + "the other rooms see this machine at its own address: no router translates it (no NAT)")
        ]
    }
    return [
      .good(
        topic,
        who
          + "the other rooms see this machine at \(translated): a router translates its address (NAT). "
          + "tactus sends a packet each second, so that the router keeps the way back open")
    ]
  }

  private static func stranger(_ told: RemoteValues, _ who: String) -> [Finding] {
    let place = told.words("far/refused")
    guard !place.isEmpty, place != "?" else { return [] }
    return [
      .note(
        topic, who + "a caller at \(place) was refused: it used another key or none",
        mend:
          "If the caller is your other room, compare tactus far-key --show in both rooms; where the key "
          + "is wrong, enter the right one with tactus far-key --typed."
      )
    ]
  }

  private static var ownAddresses: [Address] { (Interface.up() ?? []).flatMap(\.addresses) }
}

extension Address {
  /// Compares without IPv6 scopes, whose numbers mean something on one machine only.
  fileprivate func isSame(as other: Address) -> Bool {
    switch (self, other) {
    case (.v6(let high, let low, _), .v6(let otherHigh, let otherLow, _)):
      high == otherHigh && low == otherLow
    default: self == other
    }
  }
}
