// SPDX-License-Identifier: GPL-2.0-or-later
internal import Link
internal import LinkAddresses
internal import LinkSession
internal import LinkSystem
internal import LinkWire
import Synchronization

/// Passes Link's knowledge of the network to Link Audio's thread. Only the newest value of each kind is kept,
/// so memory is bounded, however late the thread reads.
final class AudioMail: AudioListener {
  struct Letters {
    var gateways: [AudioGateway]?
    /// The networks around the gateways. This property is valid if `gateways` is not nil.
    var neighbours = Neighbourhood()
    var identity: (node: NodeID, session: SessionID)?
    var sightings: [AudioSighting] = []
    /// Whether sightings (reports about peers) were dropped because there were too many: then Link must
    /// report all of them again.
    var isOverrun = false

    fileprivate var isEmpty: Bool { gateways == nil && identity == nil && sightings.isEmpty && !isOverrun }
  }

  private struct Box {
    var letters = Letters()
    /// The index of each peer in `letters.sightings`, by its id and our gateway.
    var places: [Sight: Int] = [:]
  }

  private struct Sight: Hashable {
    let node: NodeID
    let gateway: GatewayID
  }

  static let limit = 4096
  private let box = Mutex(Box())
  private let wakeUp: WakeUp

  init(_ wakeUp: WakeUp) {
    self.wakeUp = wakeUp
  }

  func receive(_ gateways: [AudioGateway], _ neighbours: Neighbourhood) {
    put { ($0.letters.gateways, $0.letters.neighbours) = (gateways, neighbours) }
  }

  func receive(node: NodeID, session: SessionID) { put { $0.letters.identity = (node, session) } }

  func receive(_ sighting: AudioSighting) {
    put { box in
      let sight = Sight(node: sighting.node, gateway: sighting.gateway)
      if let place = box.places[sight] {
        box.letters.sightings[place] = sighting
      } else if box.letters.sightings.count < Self.limit {
        box.places[sight] = box.letters.sightings.count
        box.letters.sightings.append(sighting)
      } else {
        box.letters.isOverrun = true
      }
    }
  }

  func drain() -> Letters {
    box.withLock { box in
      let letters = box.letters
      if !letters.isEmpty { box = Box() }
      return letters
    }
  }

  private func put(_ change: (inout sending Box) -> Void) {
    let wasEmpty = box.withLock { box in
      let wasEmpty = box.letters.isEmpty
      change(&box)
      return wasEmpty
    }
    if wasEmpty { wakeUp.signal() }
  }
}
