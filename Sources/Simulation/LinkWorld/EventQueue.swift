// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

/// A priority queue of events: a heap with four children for each node, because a big simulation spends half
/// of its time here. Events at the same time keep their order of insertion.
struct EventQueue<Event> {
  private struct Item {
    let time: Int64
    let order: UInt64
    let event: Event

    func isBefore(_ other: Item) -> Bool {
      time < other.time || (time == other.time && order < other.order)
    }
  }

  private var items: [Item] = []
  private var order: UInt64 = 0

  var nextTime: Micros? { items.first.map { Micros($0.time) } }
  var count: Int { items.count }

  mutating func put(_ event: Event, at time: Micros) {
    order += 1
    let item = Item(time: time.count, order: order, event: event)
    items.append(item)
    items.withUnsafeMutableBufferPointer { items in
      var place = items.count - 1
      while place > 0 {
        let parent = (place - 1) / 4
        guard item.isBefore(items[parent]) else { break }
        items[place] = items[parent]
        place = parent
      }
      items[place] = item
    }
  }

  mutating func removeFirst() -> Event? {
    guard let first = items.first, let last = items.popLast() else { return nil }
    guard !items.isEmpty else { return first.event }
    items.withUnsafeMutableBufferPointer { items in
      var place = 0
      while true {
        let children = 4 * place + 1
        guard children < items.count else { break }
        var least = children
        for child in children + 1..<min(children + 4, items.count) where items[child].isBefore(items[least]) {
          least = child
        }
        guard items[least].isBefore(last) else { break }
        items[place] = items[least]
        place = least
      }
      items[place] = last
    }
    return first.event
  }
}
