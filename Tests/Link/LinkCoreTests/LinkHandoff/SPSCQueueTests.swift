// SPDX-License-Identifier: GPL-2.0-or-later
import LinkHandoff
import Testing

@Suite struct SPSCQueueTests {
  @Test(arguments: [1, 2, 4, 8], 0..<24)
  func `a queue gives its elements in order, from any starting position`(capacity: Int, offset: Int) {
    let queue = SPSCQueue<Int>(capacity: capacity)
    for number in 0..<offset {
      queue.push(number)
      _ = queue.pop()
    }
    let taken = (0..<capacity).map { queue.push($0) }
    let given = (0...capacity).map { _ in queue.pop() }
    let refused = queue.refusedCount
    #expect(taken == Array(repeating: true, count: capacity))
    #expect(given == Array(0..<capacity) + [nil])
    #expect(refused == 0)
  }

  @Test func `a full queue refuses an element, counts this and keeps its elements`() {
    let queue = SPSCQueue<Int>(capacity: 4)
    let taken = (1...6).map { queue.push($0) }
    let refused = queue.refusedCount
    let first = queue.pop()
    let takenAgain = queue.push(7)
    let rest = (0..<5).map { _ in queue.pop() }
    #expect(taken == [true, true, true, true, false, false])
    #expect(refused == 2)
    #expect(first == 1)
    #expect(takenAgain)
    #expect(rest == [2, 3, 4, 7, nil])
  }

  @Test(arguments: [(0, 1), (1, 1), (3, 4), (5, 8), (64, 64)])
  func `the capacity of a queue is the next power of two`(asked: Int, given: Int) {
    let capacity = SPSCQueue<Int>(capacity: asked).capacity
    #expect(capacity == given)
  }

  @Test func `between two threads no queue element is lost, doubled or out of order`() async {
    let rounds = 200_000
    let (firstWrong, count) = await Pipe.run(rounds: rounds)
    #expect(firstWrong == nil)
    #expect(count == rounds)
  }
}

private final class Pipe: Sendable {
  let queue = SPSCQueue<(UInt64, UInt64)>(capacity: 64)

  static func run(rounds: Int) async -> (firstWrong: Int?, count: Int) {
    let world = Pipe()
    async let produced: Void = Task.detached {
      for round in 0..<rounds {
        let number = UInt64(round)
        while !world.queue.push((number, ~number)) { await Task.yield() }
      }
    }.value
    async let consumed = Task.detached {
      var firstWrong: Int?
      var count = 0
      while count < rounds {
        guard let (number, complement) = world.queue.pop() else {
          await Task.yield()
          continue
        }
        if number != UInt64(count) || complement != ~number, firstWrong == nil { firstWrong = count }
        count += 1
      }
      return (firstWrong, count)
    }.value
    await produced
    return await consumed
  }
}
