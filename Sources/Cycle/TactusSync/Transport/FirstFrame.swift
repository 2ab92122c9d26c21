// SPDX-License-Identifier: GPL-2.0-or-later

/// Finds the frame from which a standing transport will roll: the frame where it stands, or one cycle farther
/// on.
///
/// jack2 rolls from the frame at which the transport stands. PipeWire shows a stopped transport at the last
/// cycle that it played and rolls from the next cycle, but after a locate it rolls from the shown frame
/// (facts: jack 3). No server says which frame it will use, so this type watches each stop and each start.
struct FirstFrame: BitwiseCopyable {
  /// The way in which the transport came to the place where it stands.
  enum Arrival: BitwiseCopyable {
    case unknown
    case stop
    case locate
  }

  /// The number of cycles after joining in which JACK may ask a client once or twice although there was no
  /// locate.
  private static let joiningCycles = 8
  /// The number of cycles after joining in which PipeWire ignores a client's requests.
  private static let settlingCycles = 64

  private(set) var arrival = Arrival.unknown
  /// Whether after a stop the transport rolls from one cycle farther on than it stands. `skipsBehindLocate`:
  /// whether it does so after a locate.
  private var skipsBehindStop = false
  private var skipsBehindLocate = false
  /// Whether `skipsBehindStop` was learned from a start. A stop alone is weaker evidence.
  private var hasStartedBehindStop = false
  private var state = Transport.State.stopped
  private var frame: UInt32 = 0
  private var frames: UInt32 = 0
  private var cycles = 0
  /// The number of frames for which the transport has said that it rolls without moving.
  private(set) var still: UInt32 = 0
  private var isAskedWhileStopped = false
  private var hasSaidYes = false

  /// Notes that JACK asks whether the transport may roll. If JACK asks while the transport is stopped, or
  /// asks again after a yes, there was a locate.
  mutating func asked(_ transport: Transport) {
    switch transport.state {
    case .stopped: isAskedWhileStopped = cycles > Self.joiningCycles
    case .starting: if hasSaidYes { arrival = .locate }
    case .rolling: break
    }
  }

  mutating func answered(_ mayRoll: Bool) { hasSaidYes = mayRoll }

  /// The number of frames by which the first rolling cycle will be ahead of the frame at which the transport
  /// stands.
  func skip(_ transport: Transport, frames: UInt32) -> UInt32 {
    if case .rolling = transport.state { return 0 }
    let skips =
      switch present(transport, frames) {
      case .locate: skipsBehindLocate
      case .stop, .unknown: skipsBehindStop
      }
    return skips ? frames : 0
  }

  /// Whether the server has not shown yet from which frame the transport will roll. After a locate this is
  /// known.
  var isUnknown: Bool {
    guard case .stopped = state, case .unknown = arrival else { return false }
    return cycles > Self.settlingCycles
  }

  /// Follows one cycle. Call this after JACK's questions in that cycle. `isSound`: no cycle was lost before
  /// it.
  mutating func follow(_ transport: Transport, frames: UInt32, isSound: Bool) {
    let moved = transport.frame &- frame
    let isOneCycle = isSound && frames == self.frames && cycles > 0
    switch (state, transport.state) {
    case (.rolling, .rolling): stay(moved, frames)
    case (.rolling, .stopped):
      arrival = isAskedWhileStopped ? .locate : .stop
      if isOneCycle, !isAskedWhileStopped, !hasStartedBehindStop, moved == 0 || moved == frames {
        skipsBehindStop = moved == 0
      }
    case (.stopped, .rolling), (.starting, .rolling):
      if isOneCycle, moved == 0 || moved == frames { learn(skips: moved == frames) }
    case (.starting, .stopped), (.stopped, .stopped):
      if isAskedWhileStopped {
        arrival = .locate
      } else if cycles > 0, isElsewhere(transport, frames) {
        arrival = .unknown
      }
    case (_, .starting): arrival = present(transport, frames)
    }
    if case .rolling = transport.state {} else { still = 0 }
    if case .starting = transport.state {} else { hasSaidYes = false }
    isAskedWhileStopped = false
    cycles = min(cycles + 1, Self.settlingCycles + 1)
    self.frames = frames
    if case .rolling = transport.state {
      frame = transport.frame
    } else if isElsewhere(transport, frames) || state != transport.state && state == .rolling {
      frame = transport.frame
    }
    state = transport.state
  }

  /// Counts the frames for which the transport stands although it says that it rolls: PipeWire's may do so
  /// (facts: jack 3).
  private mutating func stay(_ moved: UInt32, _ frames: UInt32) {
    still = moved == 0 ? min(still, 1 << 24) + frames : 0
  }

  private mutating func learn(skips: Bool) {
    switch arrival {
    case .locate: skipsBehindLocate = skips
    case .stop: (skipsBehindStop, hasStartedBehindStop) = (skips, true)
    case .unknown: if skips { skipsBehindStop = true }
    }
  }

  private func present(_ transport: Transport, _ frames: UInt32) -> Arrival {
    guard case .starting = transport.state else { return arrival }
    if case .rolling = state { return .locate }
    return isElsewhere(transport, frames) ? .locate : arrival
  }

  /// Whether a standing transport has moved. PipeWire shows it one cycle farther on to a client that is late,
  /// which is no move.
  private func isElsewhere(_ transport: Transport, _ frames: UInt32) -> Bool {
    transport.frame != frame && transport.frame != frame &+ frames
  }
}
