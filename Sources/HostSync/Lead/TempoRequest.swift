// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// Other clients ask the timebase master for a tempo by repositioning the transport with their own in it (Giada does;
/// facts: jack 6). jack2 hands it to the master, PipeWire drops it.
///
/// Most clients that reposition only send back what they were shown, perhaps a moment ago: that is an echo, not a wish.
struct TempoRequest: BitwiseCopyable {
  private static let capacity: Int = 32
  /// What was shown so long ago is no echo any more.
  private static let memory: Double = 3e6
  /// Clients round, and edit their tempo map only beyond a threshold (Qtractor: 0.001).
  private static let tolerance: Double = 0.01

  private var tempos = InlineArray<32, Double>(repeating: 0)
  /// When each ceased to be shown. The newest has not: a standing transport goes on showing what it was given, though
  /// nobody asks us again.
  private var times = InlineArray<32, Double>(repeating: -1e18)
  private var newest = 0
  private var wanted: Double?
  private(set) var count: UInt64 = 0

  /// What we show as master.
  mutating func show(_ tempo: Double, at time: Double) {
    guard tempos[newest] != tempo else { return }
    times[newest] = time
    newest = (newest + 1) % Self.capacity
    tempos[newest] = tempo
  }

  /// What a requester put into the new position.
  mutating func read(_ tempo: Double, at time: Double) {
    guard tempo >= Tempo.lowest, tempo <= Tempo.highest, !isEcho(tempo, at: time) else { return }
    wanted = tempo
  }

  private func isEcho(_ tempo: Double, at time: Double) -> Bool {
    if abs(tempos[newest] - tempo) < Self.tolerance { return true }
    for place in 0..<Self.capacity
    where time - times[place] < Self.memory && abs(tempos[place] - tempo) < Self.tolerance {
      return true
    }
    return false
  }

  /// The wish, once.
  mutating func take() -> Double? {
    guard let tempo = wanted else { return nil }
    wanted = nil
    count &+= 1
    return tempo
  }
}
