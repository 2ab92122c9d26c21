// SPDX-License-Identifier: GPL-2.0-or-later
internal import FarLink
internal import LinkAddresses
internal import LinkBeatMath
internal import LinkSession

// The report on the other rooms.
extension FarWires {
  func report(_ measure: (GatewayID) -> FarMeasure?) -> FarReport {
    var report = FarReport()
    report.failure = failure?.description
    report.refused = board?.refused?.from
    report.key = keyName
    report.counters = board?.counters ?? FarCounters()
    let views = board?.views ?? []
    let missing = settings.calls.indices.filter { number in !views.contains { $0.calls.contains(number) } }
    report.rooms = views.map { view in
      let measured = wires.first { $0.line == view.id }.flatMap { measure($0.gateway.id) }
      return FarRoom(
        host: view.calls.first.map { settings.calls[$0].host }, peer: view.peer,
        state: view.state == .waiting && !view.calls.isEmpty && unknown.isSuperset(of: view.calls)
          ? .unknown : .init(view.state),
        roundTrip: measured?.roundTrip, loss: view.loss, correction: correction(of: view.calls),
        corrected: measured?.correction ?? correction(of: view.calls), distance: settings.distance,
        seen: view.seen, isCalledBack: isCalledBack(view))
    }
    report.rooms += missing.map { number in
      FarRoom(
        host: settings.calls[number].host, peer: nil, state: .waiting, roundTrip: nil, loss: nil,
        correction: correction(of: [number]), corrected: correction(of: [number]),
        distance: settings.distance)
    }
    return report
  }
}

extension FarWires {
  /// Whether we call the room in vain, but a room at its address has called us. It may be the same room,
  /// behind a router that blocks our calls.
  private func isCalledBack(_ view: LineView) -> Bool {
    guard view.state == .waiting, let board else { return false }
    let places = view.calls.flatMap { self.places[$0] ?? [] }.map(\.address)
    return board.views.contains { other in
      other.isProven && other.calls.isEmpty && other.peer.map { places.contains($0.address) } == true
    }
  }
}

extension LineView {
  var isProven: Bool { FarRoom.State(state) == .proven }
}

extension FarRoom.State {
  fileprivate init(_ state: LineState) {
    self =
      switch state {
      case .waiting: .waiting
      case .ourselves: .ourselves
      case .proven: .proven
      case .away: .away
      }
  }
}
