// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
public import LinkAddresses

/// The rights of browsers: a browser shows the secret's code once, and from then on its token.
///
/// An attacker on the same network can do two things: guess the code, or lock the owner out by guessing. The
/// length of the code prevents the first; the five wrong tries a minute only limit the noise. The same wrong
/// code counts once a minute, so that a script with an old code locks nothing. The counting prevents the
/// second: each neighbour has five tries of its own, and only tries after a neighbour's first one draw on the
/// five that all share. So a phone whose first try has the right code gets in, whatever else is guessed, from
/// any number of addresses.
public struct Pairing: Sendable {
  public static let wrongTries = 5
  public static let period = Micros(60_000_000)
  /// Neighbours with remembered tries, more than a usual network has. Beyond it the oldest is forgotten and
  /// counts as new.
  static let neighbours = 1024

  public enum Answer: Hashable, Sendable {
    /// Paired; the browser shows the secret's token from now on.
    case paired(Secret)
    case wrong
    /// Seconds until the next try.
    case tooMany(wait: Int)
  }

  /// The common address of tries from other sites' pages, whatever browser shows them.
  static let elsewhere = Address.v6(high: .max, low: .max, scope: 0)

  public private(set) var secret: Secret
  /// Counts since the start.
  public private(set) var wrong = 0
  public private(set) var refused = 0
  private var all = Tries()
  private var each: [Neighbour: Tries] = [:]

  public init(_ secret: Secret) { self.secret = secret }

  /// Replaces the secret, so that no browser is paired any more.
  public mutating func forget(for secret: Secret) { self.secret = secret }

  /// A try to pair.
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

  /// Whether the token, the value of a browser's cookie, is right.
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

/// Wrong tries of the last minute, the oldest first.
private struct Tries: Sendable {
  /// Bytes of a code that we compare. Each try with a longer code counts as a new one.
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
  /// When the next try is free; nil: now.
  var free: Micros? { tries.count < Pairing.wrongTries ? nil : tries[0].time + Pairing.period }
}

/// The unit that has its own tries: one address. In IPv6 a host can have any number of addresses, and each
/// has a first try. But all phones have addresses in the same network, so by network one guesser would lock
/// them all out. The code is long enough for it.
private struct Neighbour: Hashable, Sendable {
  let high: UInt64
  let low: UInt64

  init(_ address: Address) {
    switch address {
    case .v4(let bits): (high, low) = (0, 0xffff_0000_0000 | UInt64(bits))
    // The same host seen through an IPv6 socket.
    case .v6(let high, let low, _): (self.high, self.low) = (high, low)
    }
  }
}
