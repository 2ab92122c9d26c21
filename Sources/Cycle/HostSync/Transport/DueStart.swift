// SPDX-License-Identifier: GPL-2.0-or-later

/// Whether JACK's next question is about a start: the transport stood, and JACK has not asked since.
///
/// The last cycle need not have been a stopped one. PipeWire shows a late client the present cycle, so the
/// client may see "starting" in the cycle before it is asked (facts: jack 3).
struct DueStart: BitwiseCopyable {
  /// The transport stood in the last cycle.
  private(set) var wasStopped = false
  private(set) var isDue = false

  /// Call it once a cycle, after JACK's question.
  mutating func see(_ state: Transport.State) {
    switch state {
    case .stopped: (wasStopped, isDue) = (true, true)
    case .starting: wasStopped = false
    case .rolling: (wasStopped, isDue) = (false, false)
    }
  }

  /// JACK has asked.
  mutating func clear() { isDue = false }
}
