// SPDX-License-Identifier: GPL-2.0-or-later
import FarLink
import Link
import LinkAddresses
import LinkBeatMath
import LinkSodium
import TactusChoices
import TactusSurface

/// The choices about other rooms: distant networks that the session spans.
struct FarChoice: Equatable, Sendable {
  var calls: [String] = []
  var accept = AcceptChoice.off
  /// The key's file, or `none`; nil: the usual file.
  var key: String?

  var isWanted: Bool { !calls.isEmpty || accept != .off }
}

/// Where other rooms (distant networks) may call: nowhere, or at one or all addresses of this machine, at a
/// chosen port or the usual port.
enum AcceptChoice: Equatable, OptionValueType {
  case off
  case at(Address?, port: UInt16?)

  /// Parses an option's value: `off`, `on`, a port, an address, or both. nil: the value is not valid.
  init?(written text: String) {
    switch text {
    case "off": self = .off
    case "on": self = .at(nil, port: nil)
    default:
      if let port = UInt16(text) {
        self = .at(nil, port: port)
      } else if let address = Address(text) {
        self = .at(address, port: nil)
      } else if let parts = Endpoint.split(text), let address = Address(parts.host) {
        self = .at(address, port: parts.port)
      } else {
        return nil
      }
      guard self.port != 0, address.map({ !$0.isEvery && !$0.isOfMany }) ?? true else { return nil }
    }
  }

  var address: Address? { if case .at(let address, _) = self { address } else { nil } }
  var port: UInt16? { if case .at(_, let port) = self { port } else { nil } }

  var texts: [String] {
    switch self {
    case .off: ["off"]
    case .at(nil, nil): ["on"]
    case .at(nil, let port?): ["\(port)"]
    case .at(let address?, nil): ["\(address)"]
    case .at(let address?, let port?): ["\(Endpoint(address, port: port))"]
    }
  }
  mutating func parse(_ text: String) { self = AcceptChoice(written: text) ?? self }
}

extension Configuration {
  static let farOptions: [Option<Configuration>] = [
    Option(
      "link-to", in: .far, .value("HOST", .farHost, \.far.calls), reach: .start,
      help:
        "Share a session with the tactus at HOST or HOST:PORT in another room, which must accept calls. "
        + "\"HOST offset=3\": that room's clock is 3 ms earlier than measured (--link-offset says it of all "
        + "rooms); far/offset changes it. Can be repeated."
    ),
    Option(
      "link-accept", in: .far, .value("PORT", .door, \.far.accept, bare: "on"), reach: .start,
      help:
        "Accept calls of other rooms at this UDP port (default: off; without a port "
        + "\(FarSettings.usualPort)). One of two rooms must accept them. With ADDRESS or ADDRESS:PORT only "
        + "calls to that address of this machine are accepted, through its interface."
    ),
    Option(
      "link-key", in: .far, .value("FILE", .keyFile, \.far.key), reach: .start,
      help:
        "The file of the key that all rooms share (default: what tactus far-key has made). none: no key, "
        + "for a VPN; then only private addresses are accepted, and --link-accept needs this machine's "
        + "address in the VPN."),
  ]

  /// The settings for other rooms; nil: the user wants none. Making the key from its words takes a tenth of a
  /// second.
  func farSettings() throws(UserError) -> FarSettings? {
    guard far.isWanted else { return nil }
    if far.key == "none", far.accept != .off, far.accept.address == nil {
      throw UserError(
        "--link-key=none lets every machine connect, so --link-accept needs this machine's address in the "
          + "VPN: --link-accept=ADDRESS or ADDRESS:PORT")
    }
    let key = try far.key == "none" ? FarKey.ofNobody : FarKeyFile.key(at: far.key)
    let port = far.accept == .off ? nil : far.accept.port ?? FarSettings.usualPort
    var settings = FarSettings(
      calls: far.calls.compactMap { FarCall($0, offsets: FarChoices.offsets) }, port: port, key: key,
      cipher: Sodium.self)
    settings.door = far.accept.address
    settings.isKeyPublic = far.key == "none"
    settings.correction = choices.far.offset
    settings.distance = choices.far.distance.beats(in: choices.meter)
    return settings
  }
}

extension SurfaceState {
  /// Sets the offset of a room that tactus calls; `room` is its host, as an option has it or as tactus shows
  /// it.
  mutating func setOffset(_ offset: Micros, of room: String) throws(Refusal) {
    let place = lists.calls.firstIndex { line in
      guard let host = FarHost(room) else { return false }
      return FarCall(line, offsets: FarChoices.offsets)?.host == host
    }
    guard let place else { throw Refusal(.notNow, "no room of this name is in --link-to") }
    let name = lists.calls[place].prefix { $0 != " " }
    lists.calls[place] = offset == .zero ? "\(name)" : "\(name) offset=\(shortest(offset.milliseconds))"
  }
}

extension ValueRule {
  static let door = ValueRule(
    "a port from 1 to 65535, an address of this machine such as 10.8.0.1, both as 10.8.0.1:\(FarSettings.usualPort), on or off",
    .numberOrText, list: ["on", "off"]
  ) { AcceptChoice(written: $0) != nil }
  static let farHost = ValueRule(
    "a host such as studio.example.org, 203.0.113.7:\(FarSettings.usualPort) or \"203.0.113.7 offset=3\" (milliseconds, up to \(Int(FarChoices.offsets.upperBound)))"
  ) { FarCall($0, offsets: FarChoices.offsets) != nil }
}
