// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport
import Testing

@testable import ControlSurface

@Suite("What waits, sorted from both ends")
struct HeapTests {
  private final class Count {
    var comparisons = 0
  }

  private struct Counted: Comparable {
    let value: Int
    let count: Count

    static func < (left: Counted, right: Counted) -> Bool {
      left.count.comparisons += 1
      return left.value < right.value
    }
    static func == (left: Counted, right: Counted) -> Bool { left.value == right.value }
  }

  @Test(arguments: [1, 2, 3, 7, 40, 1000])
  func `first and last are those of a sorted list after any operations`(_ most: Int) {
    var dice = Dice(seed: UInt64(most))
    var heap = Heap<Int>()
    var sorted: [Int] = []
    for _ in 0..<8000 {
      switch Int.random(in: 0..<4, using: &dice) {
      case 0: #expect(heap.popFirst() == (sorted.isEmpty ? nil : sorted.removeFirst()))
      case 1: #expect(heap.popLast() == sorted.popLast())
      default:
        guard sorted.count < most else { continue }
        // Many of the values are equal.
        let value = Int.random(in: 0..<max(4, most / 2), using: &dice)
        heap.insert(value)
        sorted.insert(value, at: sorted.firstIndex { $0 >= value } ?? sorted.endIndex)
      }
      guard heap.first == sorted.first, heap.last == sorted.last, heap.count == sorted.count else {
        Issue.record("\(heap) is not \(sorted)")
        return
      }
    }
  }

  @Test
  func `taking from either end of 2000 elements costs few comparisons`() {
    let count = Count()
    var heap = Heap<Counted>()
    for value in 0..<2048 { heap.insert(Counted(value: value * 1_000_003 % 2048, count: count)) }
    for end in 0..<2000 {
      count.comparisons = 0
      let taken = end % 2 == 0 ? heap.popFirst() : heap.popLast()
      #expect(taken?.value == (end % 2 == 0 ? end / 2 : 2047 - end / 2))
      #expect(count.comparisons < 60)
    }
  }
}
