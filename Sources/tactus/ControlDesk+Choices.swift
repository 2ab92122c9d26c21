// SPDX-License-Identifier: GPL-2.0-or-later
import ControlSurface
import MIDIControl

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

  /// All choices at once, as a configuration has them. [control]
  func take(_ configuration: Configuration) {
    choose(true) { configuration.choose(in: &$0) }
  }

  /// What was learned is the user's choice like any other. [OSC]
  func remember(_ bindings: [MIDIBinding]) {
    choose(true) { $0.learned = bindings.map(\.description) }
  }
}
