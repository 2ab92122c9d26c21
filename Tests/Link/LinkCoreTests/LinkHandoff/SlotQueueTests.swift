// SPDX-License-Identifier: GPL-2.0-or-later
import LinkHandoff
import Testing

extension SlotQueue {
  /// Writes the number into every word of the next slot.
  fileprivate func put(_ number: UInt64) -> Bool {
    guard let slot = reserve() else { return false }
    for index in 0..<slot.count / 8 {
      slot.storeBytes(of: number &+ UInt64(index), toByteOffset: index * 8, as: UInt64.self)
    }
    commit()
    return true
  }

  /// The number that the oldest slot has in all its words; nil if the words differ.
  fileprivate func get() -> UInt64? {
    guard let slot = front() else { return nil }
    let number = slot.loadUnaligned(as: UInt64.self)
    for index in 0..<slot.count / 8
    where slot.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self) != number &+ UInt64(index) {
      release()
      return .max
    }
    release()
    return number
  }
}

@Suite struct SlotQueueTests {
  @Test(arguments: [1, 2, 4, 8], 0..<24)
  func `a queue gives memory blocks unchanged, in order, from any position`(slots: Int, offset: Int) {
    let queue = SlotQueue(slots: slots, bytes: 40)
    for number in 0..<offset {
      _ = queue.put(UInt64(number))
      _ = queue.get()
    }
    let taken = (0..<slots).map { queue.put(UInt64($0)) }
    let waiting = queue.count
    let given = (0...slots).map { _ in queue.get() }
    let refused = queue.refusedCount
    #expect(taken == Array(repeating: true, count: slots))
    #expect(waiting == slots)
    #expect(given == (0..<slots).map { UInt64($0) } + [nil])
    #expect(refused == 0)
  }

  @Test func `a full queue refuses a block, counts this and keeps its blocks`() {
    let queue = SlotQueue(slots: 4, bytes: 8)
    let taken = (1...6).map { queue.put($0) }
    let refused = queue.refusedCount
    let first = queue.get()
    let takenAgain = queue.put(7)
    let rest = (0..<5).map { _ in queue.get() }
    #expect(taken == [true, true, true, true, false, false])
    #expect(refused == 2)
    #expect(first == 1)
    #expect(takenAgain)
    #expect(rest == [2, 3, 4, 7, nil])
  }

  @Test func `a queue slot without a commit is not read and is reserved again`() {
    let queue = SlotQueue(slots: 2, bytes: 8)
    let first = queue.reserve()?.baseAddress
    let again = queue.reserve()?.baseAddress
    let seen = queue.front()?.baseAddress
    queue.commit()
    let read = queue.front()?.baseAddress
    let readAgain = queue.front()?.baseAddress
    #expect(first != nil)
    #expect(again == first)
    #expect(seen == nil)
    #expect(read == UnsafeRawPointer(first!))
    #expect(readAgain == read)
  }

  @Test func `a superfluous commit or release of a queue slot breaks nothing`() {
    let queue = SlotQueue(slots: 2, bytes: 8)
    queue.release()
    let taken = [queue.put(1), queue.put(2)]
    queue.commit()
    let given = [queue.get(), queue.get(), queue.get()]
    queue.release()
    let after = [queue.put(3) ? queue.get() : nil]
    #expect(taken == [true, true])
    #expect(given == [1, 2, nil])
    #expect(after == [3])
  }

  @Test(arguments: [(0, 0, 1), (3, 1, 4), (4, 64, 4), (5, 65, 8)])
  func `the number of slots is a power of two; each starts a cache line`(slots: Int, bytes: Int, given: Int) {
    let queue = SlotQueue(slots: slots, bytes: bytes)
    let capacity = queue.capacity
    let held = queue.slotBytes
    var places: [UInt] = []
    for _ in 0..<capacity {
      places.append(UInt(bitPattern: queue.reserve()?.baseAddress))
      queue.commit()
    }
    #expect(capacity == given)
    #expect(held == bytes)
    #expect(places.allSatisfy { $0 % 64 == 0 })
    #expect(Set(places).count == given)
    #expect(zip(places, places.dropFirst()).allSatisfy { $1 - $0 >= UInt(max(64, bytes)) })
  }

  @Test(arguments: [1, 4, 64])
  func `between two threads no memory block is lost, torn or out of order`(slots: Int) async {
    let rounds = 100_000
    let (firstWrong, count) = await Hammer.run(rounds: rounds, slots: slots)
    #expect(firstWrong == nil)
    #expect(count == rounds)
  }
}

private final class Hammer: Sendable {
  let queue: SlotQueue

  init(slots: Int) { queue = SlotQueue(slots: slots, bytes: 256) }

  static func run(rounds: Int, slots: Int) async -> (firstWrong: Int?, count: Int) {
    let world = Hammer(slots: slots)
    async let produced: Void = Task.detached {
      for round in 0..<rounds {
        while !world.queue.put(UInt64(round) << 8) { await Task.yield() }
      }
    }.value
    async let consumed = Task.detached {
      var firstWrong: Int?
      var count = 0
      while count < rounds {
        guard let number = world.queue.get() else {
          await Task.yield()
          continue
        }
        if number != UInt64(count) << 8, firstWrong == nil { firstWrong = count }
        count += 1
      }
      return (firstWrong, count)
    }.value
    await produced
    return await consumed
  }
}
