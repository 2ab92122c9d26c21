// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

/// A tempo that another client asks of the timebase master, by repositioning the transport with that tempo in
/// the position (Giada does; facts: jack 6). jack2 passes the position to the master, PipeWire drops it.
///
/// Most clients that reposition the transport only send back the tempo that they were shown, perhaps a moment
/// ago. Such a tempo is an echo and no request.
struct TempoRequest: BitwiseCopyable {
  private static let capacity: Int = 32
  /// The microseconds for which a tempo is remembered. A tempo that was shown longer ago is no echo.
  private static let memory: Double = 3e6
  /// The difference in beats per minute up to which a tempo is an echo. Clients round the tempo, and change
  /// their tempo map only beyond a threshold (Qtractor: 0.001).
  private static let tolerance: Double = 0.01

  private var tempos = InlineArray<32, Double>(repeating: 0)
  /// The time at which each of `tempos` was last shown. The newest tempo counts as shown until now: a
  /// standing transport goes on showing it, although JACK does not call us again.
  private var times = InlineArray<32, Double>(repeating: -1e18)
  private var newest = 0
  private var wanted: Double?
  private(set) var count: UInt64 = 0

  /// Notes the tempo that we show as master.
  mutating func show(_ tempo: Double, at time: Double) {
    guard tempos[newest] != tempo else { return }
    times[newest] = time
    newest = (newest + 1) % Self.capacity
    tempos[newest] = tempo
  }

  /// Reads the tempo that a client put into a new position.
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

  /// Returns the requested tempo once, and forgets it.
  mutating func drain() -> Double? {
    guard let tempo = wanted else { return nil }
    wanted = nil
    count &+= 1
    return tempo
  }
}
