// SPDX-License-Identifier: GPL-2.0-or-later

/// The least of many, found quickly.
struct Heap<Element: Comparable> {
  private var elements: [Element] = []

  var count: Int { elements.count }
  var first: Element? { elements.first }
  subscript(index: Int) -> Element { elements[index] }

  /// Where the greatest is: among those without any below them.
  var lastIndex: Int? {
    elements.indices.suffix(count - count / 2).max { elements[$0] < elements[$1] }
  }

  mutating func insert(_ element: Element) {
    elements.append(element)
    rise(from: count - 1)
  }

  mutating func remove(at index: Int) -> Element {
    elements.swapAt(index, count - 1)
    let element = elements.removeLast()
    if index < count {
      sink(from: index)
      rise(from: index)
    }
    return element
  }

  private mutating func rise(from index: Int) {
    var child = index
    while child > 0, elements[child] < elements[(child - 1) / 2] {
      elements.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  private mutating func sink(from index: Int) {
    var parent = index
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < count && elements[child] < elements[least] {
        least = child
      }
      guard least != parent else { return }
      elements.swapAt(parent, least)
      parent = least
    }
  }
}
