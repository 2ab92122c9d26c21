// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkAddresses
public import LinkBeatMath

/// The rights of browsers. To pair, a browser sends the secret's code once. From then on it sends the
/// secret's token.
///
/// An attacker on the same network could guess the code, or lock the owner out with wrong guesses. The
/// length of the code prevents guessing; the limit of five wrong tries a minute only limits the noise. The
/// same wrong code counts once a minute, so that a script with an old code locks nobody out. Each address
/// has five tries of its own. Its first try does not count towards the five tries that all addresses share.
/// Therefore a phone that sends the right code at its first try is paired, however many other addresses
/// send wrong codes.
public struct Pairing: Sendable {
  public static let wrongTries = 5
  public static let period = Micros(60_000_000)
  /// How many addresses have their tries remembered: more than a usual network has. Beyond this, the oldest
  /// is forgotten and counts as new.
  static let neighbours = 1024

  public enum Answer: Hashable, Sendable {
    /// Paired: from now on the browser sends the secret's token.
    case paired(Secret)
    case wrong
    /// Too many wrong tries: the seconds until the next try.
    case tooMany(wait: Int)
  }

  /// An address that stands for all pages of other sites that try to pair, whatever the browser. Their tries
  /// count together.
  static let elsewhere = Address.v6(high: .max, low: .max, scope: 0)

  public private(set) var secret: Secret
  /// The numbers of wrong and of refused tries since the start.
  public private(set) var wrong = 0
  public private(set) var refused = 0
  private var all = Tries()
  private var each: [Neighbour: Tries] = [:]

  public init(_ secret: Secret) { self.secret = secret }

  /// Replaces the secret: no browser is paired any more.
  public mutating func forget(for secret: Secret) { self.secret = secret }

  /// Answers a try to pair.
  ///
  /// - Parameter code: the bytes as received, of any length.
  public mutating func answer(_ code: some Collection<UInt8>, from address: Address, at now: Micros) -> Answer
  {
    let neighbour = Neighbour(address)
    var own = each[neighbour] ?? Tries()
    own.pass(at: now)
    all.pass(at: now)
    if let free = own.free ?? (own.isFirst ? nil : all.free) {
      refused += 1
      return .tooMany(wait: Int(max(1, (free - now).count / 1_000_000 + 1)))
    }
    guard let letters = Secret.canonical(code), letters.equals(secret.code.utf8) else {
      wrong += 1
      guard !own.knows(code) else { return .wrong }
      if !own.isFirst { all.add(code, at: now) }
      own.add(code, at: now)
      remember(own, of: neighbour)
      return .wrong
    }
    return .paired(secret)
  }

  /// Whether this token, the value of a browser's cookie, is right.
  public func isPaired(token: some Sequence<UInt8>) -> Bool { secret.token.utf8.equals(token.prefix(64)) }

  private mutating func remember(_ tries: Tries, of neighbour: Neighbour) {
    if each.count >= Self.neighbours, each[neighbour] == nil,
      let oldest = each.min(by: { $0.value.latest < $1.value.latest })?.key
    {
      each[oldest] = nil
    }
    each[neighbour] = tries
  }
}

/// The wrong tries of the last minute, oldest first.
private struct Tries: Sendable {
  /// How many bytes of a code are compared. Each try with a longer code counts as a different code.
  private static let codeLimit = 64

  private var tries: [(time: Micros, code: [UInt8])] = []

  mutating func pass(at now: Micros) { tries.removeAll { now - $0.time >= Pairing.period } }

  mutating func add(_ code: some Collection<UInt8>, at now: Micros) {
    tries.append((now, Array(code.prefix(Self.codeLimit + 1))))
  }

  func knows(_ code: some Collection<UInt8>) -> Bool {
    let code = Array(code.prefix(Self.codeLimit + 1))
    return code.count <= Self.codeLimit && tries.contains { $0.code == code }
  }

  var isFirst: Bool { tries.isEmpty }
  var latest: Micros { tries.last?.time ?? .zero }
  /// When the next try is allowed; nil: now.
  var free: Micros? { tries.count < Pairing.wrongTries ? nil : tries[0].time + Pairing.period }
}

/// An address, which has tries of its own. An IPv6 host can have any number of addresses, and each of them
/// has a first try; the code is long enough for that. If a whole network shared its tries, a single guesser
/// could lock out all phones in it.
private struct Neighbour: Hashable, Sendable {
  let high: UInt64
  let low: UInt64

  init(_ address: Address) {
    switch address {
    case .v4(let bits): (high, low) = (0, 0xffff_0000_0000 | UInt64(bits))
    // The IPv4 host as it appears in an IPv6 socket.
    case .v6(let high, let low, _): (self.high, self.low) = (high, low)
    }
  }
}
