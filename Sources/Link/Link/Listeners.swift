// SPDX-License-Identifier: GPL-2.0-or-later
internal import LinkSession
import Synchronization

/// All receivers of a `Link`'s changes.
final class Audience: Sendable {
  let tempo = Announcer<Double>()
  let startStop = Announcer<Bool>()
  let peers = Announcer<Int>()
  let connection = Announcer<Bool>()
  let status = Announcer<Link.Status>()
  private let wasConnected = Atomic(false)

  func tell(_ event: LinkSession.Event) {
    switch event {
    case .tempo(let beatsPerMinute): tempo.tell(beatsPerMinute)
    case .startStop(let isPlaying): startStop.tell(isPlaying)
    case .peers(let count):
      peers.tell(count)
      let isConnected = count > 0
      if wasConnected.exchange(isConnected, ordering: .relaxed) != isConnected {
        connection.tell(isConnected)
      }
    }
  }

  /// Ends all streams; nothing is delivered afterwards.
  func end() { status.end() }
}

extension [LinkSession.Event] {
  /// The newest event of each kind, in the original order.
  var newestOfEachKind: [LinkSession.Event] {
    let newest = [
      lastIndex { if case .tempo = $0 { true } else { false } },
      lastIndex { if case .startStop = $0 { true } else { false } },
      lastIndex { if case .peers = $0 { true } else { false } },
    ]
    return newest.compactMap { $0 }.sorted().map { self[$0] }
  }
}
