// SPDX-License-Identifier: GPL-2.0-or-later
import LinkHandoff
import Testing

@Suite struct LatestTests {
  @Test func `the reader sees the initial value until a value is published`() {
    let latest = Latest(7)
    let seen = [latest.read(), latest.readIfNew(), latest.read()]
    #expect(seen == [7, nil, 7])
  }

  @Test func `the reader sees the newest value, and sees it as new only once`() {
    let latest = Latest(0)
    for value in 1...5 { latest.publish(value) }
    let seen = [latest.readIfNew(), latest.readIfNew(), latest.read()]
    #expect(seen == [5, nil, 5])
  }

  /// A reader compares the number of readings with the number in its last cycle. The comparison must also
  /// work after the number wraps.
  @Test func `the count of readings changes only when a new value is read`() {
    let latest = Latest(0)
    for value in 1...600 {
      let before = latest.readings
      _ = latest.read()
      latest.publish(value)
      #expect(latest.readings == before)
      let seen = latest.read()
      #expect(seen == value && latest.readings == before &+ 1)
    }
  }

  @Test(arguments: [[true, false], [true, true, false], [true, false, false], [true, true, true, false]])
  func `reading gives the newest value, however often it was published`(rhythm: [Bool]) {
    let latest = Latest(0)
    var published = 0
    for turn in 0..<64 {
      if rhythm[turn % rhythm.count] {
        published += 1
        latest.publish(published)
      } else {
        let seen = latest.read()
        #expect(seen == published)
      }
    }
  }

  @Test func `between two threads a value is never torn, and never an older value`() async {
    let rounds = 200_000
    let (torn, backwards, last) = await Torture.run(rounds: rounds)
    #expect(torn == 0)
    #expect(backwards == 0)
    #expect(last == UInt64(rounds))
  }
}

/// Eight words that must always be equal: a torn read would show two different words.
private struct Octet: BitwiseCopyable, Equatable {
  var words: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64)

  init(_ word: UInt64) {
    words = (word, word, word, word, word, word, word, word)
  }

  static func == (left: Octet, right: Octet) -> Bool { left.isWhole && left.words.0 == right.words.0 }

  var isWhole: Bool {
    let word = words.0
    return words.1 == word && words.2 == word && words.3 == word && words.4 == word && words.5 == word
      && words.6 == word && words.7 == word
  }
}

private final class Torture: Sendable {
  let latest = Latest(Octet(0))

  static func run(rounds: Int) async -> (torn: Int, backwards: Int, last: UInt64) {
    let world = Torture()
    async let written: Void = Task.detached {
      for round in 1...rounds { world.latest.publish(Octet(UInt64(round))) }
    }.value
    async let read = Task.detached {
      var torn = 0, backwards = 0, last: UInt64 = 0
      for turn in 0..<2_000_000_000 {
        let value = world.latest.read()
        if !value.isWhole { torn += 1 }
        if value.words.0 < last { backwards += 1 }
        last = value.words.0
        if last == UInt64(rounds) { break }
        if turn % 1024 == 0 { await Task.yield() }
      }
      return (torn, backwards, last)
    }.value
    await written
    return await read
  }
}
