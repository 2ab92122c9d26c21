// SPDX-License-Identifier: GPL-2.0-or-later
import ControlSurface

extension ControlDesk {
  /// A choice that the state may refuse as it is now. [any]
  func attempt(_ lasts: Bool, _ change: (inout SurfaceState) throws(Refusal) -> Void) -> Verdict {
    do throws(Refusal) {
      var state = state
      try change(&state)
    } catch {
      return .refused(error)
    }
    choose(lasts) { try? change(&$0) }
    wake()
    return .accepted
  }
}
