// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import LinkWire

/// Who announces one session, and what they say of it.
struct Census: Sendable {
  var members = 0
  var sightings = 0
  var timelines = Tally<Timeline>()
  var startStops = Tally<SessionStartStop>()

  mutating func add(_ state: PeerState, isNewMember: Bool) {
    members += isNewMember ? 1 : 0
    sightings += 1
    timelines.add(state.timeline)
    startStops.add(state.startStop)
  }

  mutating func remove(_ state: PeerState, isLastOfNode: Bool) {
    members -= isLastOfNode ? 1 : 0
    sightings -= 1
    timelines.remove(state.timeline)
    startStops.remove(state.startStop)
  }
}

/// How often each of a few values occurs. Usually there is one; there are never more than sightings.
struct Tally<Value: Equatable & Sendable>: Sendable {
  private var entries: [(value: Value, count: Int)] = []

  var values: [Value] { entries.map(\.value) }

  func contains(_ value: Value) -> Bool { entries.contains { $0.value == value } }

  mutating func add(_ value: Value) {
    if let place = entries.firstIndex(where: { $0.value == value }) {
      entries[place].count += 1
    } else {
      entries.append((value, 1))
    }
  }

  mutating func remove(_ value: Value) {
    guard let place = entries.firstIndex(where: { $0.value == value }) else { return }
    entries[place].count -= 1
    if entries[place].count == 0 { entries.remove(at: place) }
  }

  mutating func replaceAll(by value: Value) {
    let total = entries.reduce(0) { $0 + $1.count }
    entries = total > 0 ? [(value, total)] : []
  }
}
