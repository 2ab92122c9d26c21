// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices

/// How far our outputs are ahead of the session, by hand.
///
/// It only ever moves by a share of the time that passes, so that beats come sooner or later and none is left out. Released it
/// stays as it is, and the outputs run at exactly the session's tempo again.
struct Bend: BitwiseCopyable {
  /// In microseconds; below 0 they are behind.
  private(set) var ahead = 0.0
  /// By how much in this cycle.
  private(set) var moved = 0.0
  /// What was turned and is not there yet.
  private var left = 0.0
  private var turned = Micros(0)
  private var returns: UInt32 = 0
  private var isStarted = false

  /// `passed`: microseconds since the last cycle.
  mutating func follow(_ settings: BendSettings, passed: Double) {
    defer { (turned, returns, isStarted) = (settings.turned, settings.returns, true) }
    moved = 0
    // A server that comes back knows nothing of what was turned before.
    guard isStarted else { return }
    left += Double((settings.turned - turned).count)
    if settings.returns != returns { left = -ahead }
    let most = passed * BendSettings.most / 100
    var step = min(most, max(-most, left))
    if settings.percent != 0 {
      step = min(most, max(-most, passed * settings.percent / 100))
    } else {
      left -= step
    }
    let farthest = Double(BendSettings.farthest.count)
    let next = min(farthest, max(-farthest, ahead + step))
    moved = next - ahead
    ahead = next
  }
}
