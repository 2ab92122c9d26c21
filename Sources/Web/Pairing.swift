// SPDX-License-Identifier: GPL-2.0-or-later
public import Addresses
public import BeatMath

/// Who may change something: browsers that have shown the secret's code once, and show its token from then on.
///
/// Its attacker is on the same network, and can do two things: guess, and keep the owner out by guessing. Against the first there
/// is the length of the code; the five wrong codes a minute only keep him from making noise. The same wrong code
/// counts once a minute, so that a script with an old code shuts nobody out. They are counted so that the
/// second does not work: each neighbour has five of his own, and of those all together can only use five after their
/// first. So a phone that comes with the right code at its first try is let in, no matter who else guesses, from however many addresses.
public struct Pairing: Sendable {
  public static let wrongTries = 5
  public static let period = Micros(60_000_000)
  /// Whose tries are remembered, more than a usual network has; after so many others somebody is new again.
  static let neighbours = 1024

  public enum Answer: Hashable, Sendable {
    /// With what the browser shows from now on.
    case paired(Secret)
    case wrong
    /// Seconds until the next try.
    case tooMany(wait: Int)
  }

  /// From which pages of others try, wherever they are shown.
  static let elsewhere = Address.v6(high: .max, low: .max, scope: 0)

  public private(set) var secret: Secret
  /// Since the start.
  public private(set) var wrong = 0
  public private(set) var refused = 0
  private var all = Tries()
  private var each: [Neighbour: Tries] = [:]

  public init(_ secret: Secret) { self.secret = secret }

  /// All who were paired are strangers.
  public mutating func forget(for secret: Secret) { self.secret = secret }

  /// A try to pair.
  ///
  /// - Parameter code: as it came, of any length.
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

  /// Whether a browser shows the token: the value of its cookie.
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

/// Wrong ones of the last minute, the oldest first.
private struct Tries: Sendable {
  /// As much of a code as is compared; of a longer one each try is a new one.
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
  /// When there is one again. nil: there is one.
  var free: Micros? { tries.count < Pairing.wrongTries ? nil : tries[0].time + Pairing.period }
}

/// Who shares an allowance: an address. In IPv6 everybody on a network can have as many as he likes, and look at a first guess from
/// each; but all phones have addresses of the same network, and one guesser would keep them out. The code is long enough for it.
private struct Neighbour: Hashable, Sendable {
  let high: UInt64
  let low: UInt64

  init(_ address: Address) {
    switch address {
    case .v4(let bits): (high, low) = (0, 0xffff_0000_0000 | UInt64(bits))
    // IPv4 seen through a socket of IPv6 is the same.
    case .v6(let high, let low, _): (self.high, self.low) = (high, low)
    }
  }
}
