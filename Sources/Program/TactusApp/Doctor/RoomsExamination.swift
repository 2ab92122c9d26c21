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

  /// `own`: the addresses of this machine.
  static func judge(_ told: RemoteValues, _ who: String, own: [Address] = ownAddresses) -> [Finding] {
    let far = told.state.far
    guard !far.rooms.isEmpty || !far.failure.isEmpty else { return [] }
    let who = who.isEmpty ? "" : "\(who.dropLast()): "
    let failure = far.failure.isEmpty ? [] : [unreachable(far.failure, who)]
    return failure + far.rooms.compactMap { room($0, who) }
      + figures(told, who) + key(told, who) + router(told, who, own) + stranger(told, who)
  }

  private static func unreachable(_ failure: String, _ who: String) -> Finding {
    .bad(topic, who + "no way to them (\(failure))", mend: "tactus tries again every second.")
  }

  private static func room(_ room: ShownRoom, _ who: String) -> Finding? {
    let words = room.words
    return switch room.state {
    case .nowhere:
      .bad(
        topic, who + words,
        mend:
          "Write the other room's address, or its name as the other room knows it; tactus asks again every ten seconds."
      )
    case .ourselves:
      .bad(
        topic, who + words,
        mend:
          "Write the other room's address after --link-to. Only one of two rooms has to call; one that is called needs no --link-to."
      )
    case .waiting where room.isCalledBack:
      .good(topic, who + words + ", and --link-to is not needed here")
    case .waiting:
      .bad(
        topic, who + words,
        mend:
          "Is tactus --link-accept running there, and does UDP port 20819 of its router lead to that machine? Its "
          + "tactus doctor shows four letters of its key, and whether a caller used another key.")
    case .away:
      .bad(
        topic, who + words + "; both rooms play on",
        mend: "Check the Internet connection of both; tactus keeps calling.")
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
            + "\(shortest(loss)) % of what they send is lost: a tempo or a start may take a second to get here",
          mend: "A cable instead of wireless, on both sides, loses least."))
    }
    if let trip = Double(told.words("far/roundtrip")), trip >= muchTime {
      findings.append(
        .note(
          topic,
          who + "a round trip takes \(shortest(trip)) ms, and the beats may be \(shortest(trip / 2)) ms apart"
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
            + "without a key: every machine that can send to this one from a private address may play along",
          mend: "If you do not trust all machines in that network: tactus far-key makes a key.")
      ]
    case let name:
      [
        .good(
          topic,
          who + "key \"\(name)\": the other rooms must show the same four letters, or they have another key")
      ]
    }
  }

  private static func router(_ told: RemoteValues, _ who: String, _ own: [Address]) -> [Finding] {
    let places = told.list("far/seen/list").compactMap { Endpoint.split($0).flatMap { Address($0.host) } }
    guard let translated = places.first(where: { place in !own.contains { $0.isSame(as: place) } }) else {
      return places.isEmpty
        ? [] : [.good(topic, who + "seen there by this machine's own address, without NAT")]
    }
    return [
      .good(
        topic,
        who
          + "seen there as \(translated): a router in between translates addresses (NAT). A packet each "
          + "second keeps the way back open")
    ]
  }

  private static func stranger(_ told: RemoteValues, _ who: String) -> [Finding] {
    let place = told.words("far/refused")
    guard !place.isEmpty, place != "?" else { return [] }
    return [
      .note(
        topic, who + "a caller at \(place) used another key",
        mend:
          "If that is your other room: tactus far-key --show in both, and tactus far-key --typed where it is wrong."
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
