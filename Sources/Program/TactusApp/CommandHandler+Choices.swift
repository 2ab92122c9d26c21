// SPDX-License-Identifier: GPL-2.0-or-later
import ControlSurface
import MIDIControl

extension CommandHandler {
  /// Whether a controller subscribes to changes.
  var hasSubscribers: Bool { (surface?.counters.subscribers ?? 0) > 0 }

  /// Whether a key of the view would have an effect.
  var takesKeys: Bool { surface != nil }

  /// Makes a change that the present state may rule out. [any]
  func attempt(_ lasts: Bool, _ change: (inout SurfaceState) throws(Refusal) -> Void) -> Reply {
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

  /// Takes over all choices of a configuration. [control]
  func apply(_ configuration: Configuration) {
    choose(true) { configuration.choose(in: &$0) }
  }

  /// Keeps learned MIDI bindings as a choice of the user. [OSC]
  func remember(_ bindings: [MIDIBinding]) {
    choose(true) { $0.lists.learned = bindings.map(\.description) }
  }
}
