// SPDX-License-Identifier: GPL-2.0-or-later

/// An estimate of the microseconds that other slow clients need to get ready. If Play is pressed closer than
/// this before a beat or bar line, the start takes the next one.
///
/// The estimate is learned when the transport has waited for those clients alone. If a cycle was lost
/// meanwhile, the delay was the driver's or ours, so it changes no estimate. The estimate shrinks slowly
/// while it is not needed. When a client leaves, `tightMicros` starts again: a client that took two seconds
/// may be gone.
struct ReadinessEstimate: BitwiseCopyable {
  /// The greatest value of the estimate, in microseconds.
  static let longest: Double = 2e6
  /// The fraction by which the estimate shrinks if the other clients were ready at once. `inTime` is the
  /// fraction if they were ready in time. `tightlyInTime` is the fraction if they were ready in time although
  /// they had no more time than the estimate.
  static let atOnce: Double = 0.5
  static let inTime: Double = 0.25
  static let tightlyInTime: Double = 0.03
  /// The margin by which a time that proved too short is exceeded. `least` is the share by which this lower
  /// bound shrinks. Without the margin the estimate would shrink until a start fails again, which costs a
  /// bar.
  static let room: Double = 1.25
  static let least: Double = 0.002

  /// The estimate for a start that waits for its beat. If it is too long, the start comes a bar later.
  private(set) var micros = 0.0
  /// The estimate for a locate, for an exact start (the transport is located just before it), and for a start
  /// that is requested late. If it is too short, there is another silence, or the start comes a bar later.
  private(set) var tightMicros = 0.0
  /// The lower bound of `tightMicros`.
  private var leastMicros = 0.0
  private var isDisturbed = false
  var relocating: Relocating?
  /// The number of clients now. `learnedOf` is their number when the estimate was learned.
  private var clients: Int32 = 0, learnedOf: Int32 = 0

  /// Notes the state of this cycle; call this once a cycle. `isAwaited`: the transport waits for the other
  /// clients alone. `isSound`: no cycle was lost.
  mutating func see(isAwaited: Bool, isSound: Bool, clients: Int32) {
    isDisturbed = isAwaited && (isDisturbed || !isSound)
    self.clients = clients
    // The slow client may have left. A client that came after the estimate was learned was not slow, so
    // nothing changes when such a client leaves.
    if clients < learnedOf { (tightMicros, leastMicros, learnedOf) = (0, 0, clients) }
  }

  /// Learns that the other clients held a relocation for `time` microseconds.
  mutating func took(_ time: Double, cycle cycleMicros: Double) {
    guard !isDisturbed else { return }
    if time > cycleMicros {
      micros = min(time + cycleMicros, Self.longest)
      (tightMicros, learnedOf) = (micros, clients)
    } else {
      Self.forget(Self.atOnce, of: &micros, cycleMicros)
      Self.forget(Self.atOnce, of: &tightMicros, cycleMicros)
      leastMicros = 0
    }
  }

  /// Learns that the other clients were not ready after `time` microseconds. `isGuess`: they had no more time
  /// than the estimate and may need far more, so twice the time is tried.
  mutating func needMore(than time: Double, cycle cycleMicros: Double, isGuess: Bool = false) {
    guard !isDisturbed else { return }
    let needed = min((isGuess ? 2 : 1) * time + cycleMicros, Self.longest)
    micros = max(micros, needed)
    (tightMicros, learnedOf) = (max(tightMicros, needed), clients)
    leastMicros = max(leastMicros, min(needed, Self.room * time))
  }

  /// Learns that all clients were in time for a start. `isTight`: they had no more time than the estimate. If
  /// they had more, the start does not show how little time is enough.
  mutating func wereInTime(isTight: Bool, cycle cycleMicros: Double) {
    Self.forget(isTight ? Self.tightlyInTime : Self.inTime, of: &micros, cycleMicros)
    guard isTight else { return }
    Self.forget(Self.tightlyInTime, of: &tightMicros, cycleMicros)
    tightMicros = max(tightMicros, leastMicros)
    Self.forget(Self.least, of: &leastMicros, cycleMicros)
  }

  private static func forget(_ share: Double, of micros: inout Double, _ cycleMicros: Double) {
    micros *= 1 - share
    if micros < cycleMicros { micros = 0 }
  }
}

// MARK: locates

extension ReadinessEstimate {
  /// A locate for which all clients get ready: its frame, the time when it began, and the time when we last
  /// held it.
  struct Relocating: BitwiseCopyable {
    let frame: UInt32
    let since: Double
    var held = -Double.infinity
  }

  /// Notes the locate that is under way. At each new frame JACK asks all clients again.
  mutating func seeRelocation(_ now: borrowing CycleContext) {
    let frame = now.transport.frame
    if relocating?.frame != frame { relocating = Relocating(frame: frame, since: now.heard.start) }
  }

  /// Learns from the last locate, after which the transport rolls now.
  mutating func learnRelocation(_ now: borrowing CycleContext) {
    guard let place = relocating else { return }
    relocating = nil
    // JACK itself needs two cycles.
    let ready = now.heard.start - 2 * now.cycleMicros
    // If we held the locate to its end, the other clients may have been ready long before.
    if ready - place.held < now.cycleMicros { return }
    took(ready - place.since, cycle: now.cycleMicros)
  }
}
