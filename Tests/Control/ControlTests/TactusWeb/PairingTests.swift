// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAddresses
import LinkBeatMath
import TactusTestSupport
import Testing

@testable import TactusWeb

@Suite("Pairing")
struct PairingTests {
  private let owner = Address.v4(0xc0a8_0714)
  private let second = Micros(1_000_000)

  private func fresh(_ seed: UInt64 = 1) -> Secret {
    var chance = Dice(seed: seed)
    return Secret(using: &chance)
  }

  private func guesser(_ number: Int) -> Address { .v4(0x0a00_0000 + UInt32(number)) }

  @Test
  func `a pairing code is accepted as scanned and as people type it`() {
    let secret = fresh()
    var pairing = Pairing(secret)
    let lower = secret.groups.lowercased()
    for text in [
      secret.code, secret.groups, lower, " \(secret.code)\r\n", lower.replacing("-", with: " "),
      secret.code.replacing("0", with: "o").replacing("1", with: "l"),
      secret.code.replacing("0", with: "O").replacing("1", with: "I"),
    ] {
      #expect(
        pairing.answer(Array(text.utf8), from: owner, at: .zero) == .paired(secret), "\(text)")
    }
    #expect(pairing.wrong == 0)
  }

  @Test
  func `every letter of the pairing code and of the cookie's token counts`() {
    let secret = fresh()
    var other: [UInt8] { Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8) }
    for place in 0..<16 {
      var code = Array(secret.code.utf8)
      code[place] = other.first { $0 != code[place] }!
      var pairing = Pairing(secret)
      #expect(pairing.answer(code, from: owner, at: .zero) == .wrong)
    }
    let pairing = Pairing(secret)
    #expect(pairing.isPaired(token: secret.token.utf8))
    for place in 0..<32 {
      var token = Array(secret.token.utf8)
      token[place] ^= 1
      #expect(!pairing.isPaired(token: token))
    }
    for token in [
      "", String(secret.token.dropLast()), secret.token + "0", secret.code, secret.token.lowercased(),
    ] {
      #expect(!pairing.isPaired(token: token.utf8), "\(token)")
    }
  }

  @Test(arguments: [0, 1, 15, 17, 64, 65, 100_000])
  func `a random code of any length is wrong, and so is an empty code`(length: Int) {
    var pairing = Pairing(fresh())
    #expect(
      pairing.answer(Array(repeating: UInt8(ascii: "A"), count: length), from: owner, at: .zero) == .wrong)
    #expect(pairing.answer([0xff, 0, 0x80], from: owner, at: .zero) == .wrong)
  }

  @Test
  func `after five wrong codes, even the right code is refused for a minute`() {
    let secret = fresh()
    var pairing = Pairing(secret)
    for number in 0..<5 {
      #expect(pairing.answer([UInt8(number)], from: owner, at: Micros(Int64(number) * 1_000_000)) == .wrong)
    }
    let right = Array(secret.code.utf8)
    #expect(pairing.answer(right, from: owner, at: Micros(5_000_000)) == .tooMany(wait: 56))
    #expect(pairing.answer(right, from: owner, at: Micros(59_999_999)) == .tooMany(wait: 1))
    #expect(pairing.answer(right, from: owner, at: Micros(60_000_000)) == .paired(secret))
    #expect(pairing.wrong == 5 && pairing.refused == 2)
  }

  @Test
  func `a script that repeats an old pairing code locks out no phone`() {
    let secret = fresh(), old = Array("FEDC-BA98-7654-3210".utf8)
    var pairing = Pairing(secret)
    for second in 0..<600 {
      #expect(pairing.answer(old, from: owner, at: Micros(Int64(second) * 1_000_000)) == .wrong)
    }
    let now = Micros(600_000_000)
    // The user may even mistype the code a few times.
    for number in 0..<4 { #expect(pairing.answer([UInt8(number)], from: owner, at: now) == .wrong) }
    var copy = pairing
    #expect(copy.answer(Array(secret.code.utf8), from: guesser(1), at: now) == .paired(secret))
    #expect(copy.answer([7], from: guesser(1), at: now) == .wrong)
    #expect(copy.answer(Array(secret.code.utf8), from: guesser(1), at: now) == .paired(secret))
    // A code that is too long to remember counts as a different code at each try.
    let long = [UInt8](repeating: 65, count: 100)
    for _ in 0..<5 { _ = copy.answer(long, from: guesser(2), at: now) }
    #expect(copy.answer(Array(secret.code.utf8), from: guesser(2), at: now) == .tooMany(wait: 61))
  }

  @Test
  func `right pairing codes do not count as tries`() {
    let secret = fresh()
    var pairing = Pairing(secret)
    for _ in 0..<100 {
      #expect(pairing.answer(Array(secret.code.utf8), from: owner, at: .zero) == .paired(secret))
    }
  }

  @Test
  func `wrong codes from a thousand addresses do not keep a phone from pairing`() {
    let secret = fresh()
    var pairing = Pairing(secret)
    var now = Micros.zero
    var tried = 0
    for round in 0..<2000 {
      now = now + Micros(100_000)
      for number in 0..<10 {
        let code = Array("\(round * 10 + number)".utf8)
        if pairing.answer(code, from: guesser((round * 10 + number) % 1000), at: now) == .wrong { tried += 1 }
      }
      guard round % 100 == 0 else { continue }
      var copy = pairing
      #expect(copy.answer(Array(secret.code.utf8), from: owner, at: now) == .paired(secret))
    }
    // Four minutes have passed. In each minute, every neighbour has its first try, and all neighbours share
    // five more tries.
    #expect(tried <= 4 * (1000 + 5))
  }

  @Test
  func `beyond first tries, all neighbours share five wrong codes a minute`() {
    var pairing = Pairing(fresh())
    var wrong = 0
    for round in 0..<10 {
      for number in 0..<20
      where pairing.answer([UInt8(round)], from: guesser(number), at: .zero) == .wrong {
        wrong += 1
      }
    }
    #expect(wrong == 20 + 5)
    // A neighbour that mistyped once has a new first try after a minute, whatever its neighbours do.
    var copy = pairing
    #expect(copy.answer([1], from: guesser(0), at: Micros(60_000_000)) == .wrong)
  }

  @Test
  func `code guesses from a whole IPv6 network keep out no phone`() {
    let secret = fresh()
    var pairing = Pairing(secret)
    func neighbour(_ number: UInt64) -> Address { .v6(high: 0xfe80_0000_0000_0000, low: number, scope: 3) }
    var wrong = 0
    for round in 0..<100 {
      for number in 1...20
      where pairing.answer([UInt8(round)], from: neighbour(UInt64(number)), at: .zero) == .wrong {
        wrong += 1
      }
      var copy = pairing
      let phone = copy.answer(Array(secret.code.utf8), from: neighbour(1000), at: .zero)
      #expect(phone == .paired(secret), "round \(round)")
    }
    #expect(wrong == 20 + 5)
    for number in 0..<5 {
      let address =
        number % 2 == 0 ? owner : Address.v6(high: 0, low: 0xffff_c0a8_0714, scope: 0)
      _ = pairing.answer([UInt8(number)], from: address, at: Micros(60_000_000))
    }
    guard case .tooMany = pairing.answer([1], from: owner, at: Micros(60_000_000)) else {
      Issue.record("six wrong tries")
      return
    }
  }

  @Test
  func `a new page secret makes the old pairing code and cookie invalid`() {
    let (before, after) = (fresh(1), fresh(2))
    var pairing = Pairing(before)
    pairing.forget(for: after)
    #expect(!pairing.isPaired(token: before.token.utf8) && pairing.isPaired(token: after.token.utf8))
    #expect(pairing.answer(Array(before.code.utf8), from: owner, at: .zero) == .wrong)
  }

  @Test
  func `a pairing code has 80 random bits and its token 160 other ones`() {
    var chance = Dice(seed: 7)
    var seen = Array(repeating: Set<Character>(), count: 48)
    for _ in 0..<600 {
      let secret = Secret(using: &chance)
      for (place, letter) in (secret.code + secret.token).enumerated() { seen[place].insert(letter) }
    }
    #expect(seen.allSatisfy { $0.count == 32 })
    #expect(fresh(1) != fresh(2) && fresh(1).code != String(fresh(1).token.prefix(16)))
  }

  @Test
  func `a written page secret reads back, and invalid text is refused`() {
    let secret = fresh()
    #expect(Secret(code: secret.groups, token: secret.token) == secret)
    #expect(Secret(code: String(secret.code.dropLast()), token: secret.token) == nil)
    #expect(Secret(code: secret.code, token: "") == nil)
    #expect(Secret(code: "U" + secret.code.dropFirst(), token: secret.token) == nil)
    #expect(secret.groups.count == 19 && secret.groups.count { $0 == "-" } == 3)
  }
}
