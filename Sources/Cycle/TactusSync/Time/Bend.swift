// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

/// The distance by which our outputs are ahead of the session because the user bends them by hand.
///
/// The distance grows and shrinks only by a share of the time that passes, so beats come sooner or later, and
/// no beat is left out. When the user releases the control, the distance stays, and the outputs run at
/// exactly the session's tempo again.
struct Bend: BitwiseCopyable {
  /// The microseconds by which the outputs are ahead of the session; negative: they are behind.
  private(set) var ahead = 0.0
  /// The microseconds that this cycle has added to `ahead`.
  private(set) var moved = 0.0
  /// The microseconds of bend that the user has asked for and that are still to be applied.
  private var left = 0.0
  private var turned = Micros(0)
  private var returns: UInt32 = 0
  private var isStarted = false

  /// `passed`: microseconds since the last cycle.
  mutating func follow(_ settings: BendSettings, passed: Double) {
    defer { (turned, returns, isStarted) = (settings.turned, settings.returns, true) }
    moved = 0
    // After a restart of the server `ahead` is 0 again. Requests from before the restart must not be applied
    // again.
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
