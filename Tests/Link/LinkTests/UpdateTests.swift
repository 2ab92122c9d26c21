// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import Link
import Synchronization
import TactusTestSupport
import Testing

/// Tests of `Link.update`, and of callbacks that are replaced.
@Suite struct UpdateTests {
  struct Mishap: Error, Equatable {}

  @Test func `an update of a Link gets the time and returns its closure's result`() {
    let link = Link(tempo: 100)
    let before = Link.now
    let (tempo, then) = link.update { state, now in
      state.setTempo(140, at: now)
      return (state.tempo, now)
    }
    #expect(tempo == 140 && link.tempo == 140 && before <= then && then <= Link.now)
  }

  @Test func `an update of a Link that throws commits nothing`() {
    let link = Link(tempo: 100)
    #expect(throws: Mishap()) {
      try link.update { state, now throws(Mishap) in
        state.setTempo(140, at: now)
        throw Mishap()
      }
    }
    #expect(link.tempo == 100)
  }

  @Test func `calling a Link within its own update ends the program with a message`() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      let link = Link(tempo: 100)
      link.update { _, _ in _ = link.capture() }
    }
    let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(said.contains("the closure of Link.update calls the same Link"), "\(said)")
  }

  @Test func `another Link and real-time-safe calls may be used within an update`() {
    let (link, other) = (Link(tempo: 100), Link(tempo: 110))
    link.update { state, _ in state.setTempo(other.capture().tempo + Double(link.peerCount), at: Link.now) }
    #expect(link.tempo == 110)
  }

  @Test func `a removed callback has ended when its removal returns`() {
    let link = Link(tempo: 100)
    let (begun, ended) = (Counter(), Counter())
    link.onTempo { _ in
      begun.add()
      usleep(200_000)
      ended.add()
    }
    link.update { state, now in state.setTempo(120, at: now) }
    while begun.value == 0 { usleep(1_000) }
    link.onTempo(nil)
    #expect(ended.value == 1)
    link.update { state, now in state.setTempo(121, at: now) }
    usleep(50_000)
    #expect(begun.value == 1)
  }

  @Test(.timeLimit(.minutes(1))) func `a callback may remove itself`() {
    let link = Link(tempo: 100)
    let calls = Counter()
    link.onTempo { [weak link] _ in
      link?.onTempo(nil)
      calls.add()
    }
    link.update { state, now in state.setTempo(120, at: now) }
    while calls.value == 0 { usleep(1_000) }
    link.update { state, now in state.setTempo(121, at: now) }
    usleep(50_000)
    #expect(calls.value == 1)
  }

  final class Counter: Sendable {
    private let count = Atomic(0)
    var value: Int { count.load(ordering: .acquiring) }
    func add() { count.add(1, ordering: .acquiringAndReleasing) }
  }
}
