// SPDX-License-Identifier: GPL-2.0-or-later

/// A queue with two ends: the least and the greatest element can be taken quickly. The inbox serves at one
/// end and drops at the other.
///
/// A min-max heap (Atkinson et al. 1986): a tree in an array. On even levels each element is the least of its
/// subtree, on odd levels the greatest.
struct Heap<Element: Comparable> {
  private var elements: [Element] = []

  var count: Int { elements.count }
  var first: Element? { elements.first }
  var last: Element? { lastIndex.map { elements[$0] } }

  /// Index of the greatest element: one of the root's two children.
  private var lastIndex: Int? {
    guard count > 2 else { return elements.indices.last }
    return elements[1] < elements[2] ? 2 : 1
  }

  mutating func insert(_ element: Element) {
    elements.append(element)
    rise(from: count - 1)
  }

  mutating func popFirst() -> Element? { remove(at: elements.indices.first) }
  mutating func popLast() -> Element? { remove(at: lastIndex) }

  private mutating func remove(at index: Int?) -> Element? {
    guard let index else { return nil }
    elements.swapAt(index, count - 1)
    let element = elements.removeLast()
    if index < count { sink(from: index) }
    return element
  }

  private func isLeast(_ index: Int) -> Bool { (index + 1).leadingZeroBitCount & 1 == 1 }

  /// Whether the element belongs nearer to the root than the other, on minimum levels (`least`) or on maximum
  /// levels.
  private func isAbove(_ index: Int, _ other: Int, least: Bool) -> Bool {
    least ? elements[index] < elements[other] : elements[other] < elements[index]
  }

  private mutating func rise(from index: Int) {
    guard index > 0 else { return }
    let parent = (index - 1) / 2
    var (here, least) = (index, isLeast(index))
    if isAbove(index, parent, least: !least) {
      elements.swapAt(index, parent)
      (here, least) = (parent, !least)
    }
    while here > 2 {
      let above = ((here - 1) / 2 - 1) / 2
      guard isAbove(here, above, least: least) else { return }
      elements.swapAt(here, above)
      here = above
    }
  }

  private mutating func sink(from index: Int) {
    let least = isLeast(index)
    var here = index
    while let next = highest(below: here, least: least) {
      guard isAbove(next, here, least: least) else { return }
      elements.swapAt(next, here)
      guard next > 2 * here + 2 else { return }
      let parent = (next - 1) / 2
      if isAbove(parent, next, least: least) { elements.swapAt(next, parent) }
      here = next
    }
  }

  /// The child or grandchild that belongs nearest to the root.
  private func highest(below index: Int, least: Bool) -> Int? {
    var best: Int?
    for other in [2 * index + 1, 2 * index + 2, 4 * index + 3, 4 * index + 4, 4 * index + 5, 4 * index + 6] {
      guard other < count else { break }
      if best.map({ isAbove(other, $0, least: least) }) ?? true { best = other }
    }
    return best
  }
}
