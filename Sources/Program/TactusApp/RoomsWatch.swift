// SPDX-License-Identifier: GPL-2.0-or-later
import Link
import LinkBeatMath
import TactusChoices
import TactusSurface

/// Reads the state of the other rooms twice a second, shows it, and returns lines about its changes.
struct RoomsWatch {
  private var news = FarNews()
  private var looked = Micros.zero
  private var told: (choices: FarChoices, meter: Meter, calls: [String])?
  private static let period = Micros(500_000)

  mutating func poll(at link: Link, _ state: SurfaceState, for desk: CommandHandler) -> [String] {
    let wanted = (choices: state.choices.far, meter: state.choices.meter, calls: state.lists.calls)
    if told.map({ $0 != wanted }) ?? true {
      told = wanted
      link.setFar(
        correction: wanted.choices.offset, distance: wanted.choices.distance.beats(in: wanted.meter),
        calls: wanted.calls.compactMap { FarCall($0, offsets: FarChoices.offsets)?.correction })
    }
    guard Link.clock() - looked >= Self.period, let report = link.farReport else { return [] }
    looked = Link.clock()
    let shown = ShownFar(report)
    desk.tell { $0.far = shown }
    return news.lines(shown, at: looked)
  }
}

extension ShownFar {
  /// Times are rounded to tenths of a millisecond and shares to tenths of a percent: further digits change
  /// all the time.
  init(_ report: FarReport) {
    self.init()
    failure = report.failure ?? ""
    refused = report.refused.map { "\($0)" } ?? ""
    key = report.key ?? ""
    rooms = report.rooms.map { room in
      ShownRoom(
        name: room.host.map { "\($0)" } ?? room.peer.map { "\($0)" } ?? "?",
        state: .init(room.state),
        roundTripMilliseconds: room.roundTrip.map { (Double($0.count) / 100).rounded() / 10 },
        lossPercent: room.loss.map { ($0 * 1000).rounded() / 10 },
        offsetMilliseconds: room.correction.milliseconds,
        heldMilliseconds: (room.corrected.milliseconds * 10).rounded() / 10,
        distanceBeats: room.distance.value,
        seen: room.seen.map { "\($0)" }, isCalledBack: room.isCalledBack)
    }
  }
}

extension ShownRoom.State {
  init(_ state: FarRoom.State) {
    self =
      switch state {
      case .unknown: .nowhere
      case .waiting: .waiting
      case .ourselves: .ourselves
      case .proven: .proven
      case .away: .away
      }
  }
}
/// Lines about changes of the other rooms.
struct FarNews {
  private var states: [String: ShownRoom.State] = [:]
  private var refused = ""
  /// The time from which on the next line about a refused call is allowed. Any machine that can send a
  /// datagram here could otherwise fill the terminal with such lines.
  private var nextRefusal = Micros.zero
  private static let refusalSpacing = Micros(60_000_000)
  private var failure = ""

  mutating func lines(_ far: ShownFar, at now: Micros) -> [String] {
    var lines: [String] = []
    if far.failure != failure, !far.failure.isEmpty {
      lines.append("other rooms can't be reached (\(far.failure)); trying again")
    }
    for room in far.rooms where states[room.name] ?? .waiting != room.state {
      switch room.state {
      case .nowhere: lines.append("No address is known for the room \(room.name); tactus looks it up again")
      case .ourselves: lines.append("\(room.name) leads back to this tactus itself, not to another room")
      case .proven: lines.append("The room at \(room.name) is connected")
      case .away: lines.append("The room at \(room.name) cannot be reached; both rooms play on")
      case .waiting where [.nowhere, .ourselves].contains(states[room.name]): break
      case .waiting: lines.append("The room at \(room.name) has left")
      case .unknown: break
      }
    }
    let names = Set(far.rooms.map(\.name))
    for (name, state) in states.sorted(by: { $0.key < $1.key })
    where !names.contains(name) && [.proven, .away].contains(state) {
      lines.append("The room at \(name) has left")
    }
    if far.refused != refused, !far.refused.isEmpty, now >= nextRefusal {
      nextRefusal = now + Self.refusalSpacing
      lines.append("A caller at \(far.refused) was refused: it used another key or none")
    }
    states = Dictionary(far.rooms.map { ($0.name, $0.state) }, uniquingKeysWith: { $1 })
    (refused, failure) = (far.refused, far.failure)
    return lines
  }
}
