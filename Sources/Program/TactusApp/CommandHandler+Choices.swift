// SPDX-License-Identifier: GPL-2.0-or-later
import Link
import LinkBeatMath
import TactusMIDI
import TactusSurface

extension CommandHandler {
  /// Whether a controller subscribes to changes.
  var hasSubscribers: Bool { (surface?.counters.subscribers ?? 0) > 0 }

  /// Whether a key of the view would have an effect.
  var takesKeys: Bool { surface != nil }

  /// Sets the session's tempo. `below`: the tempo that a bend started from; nil: the change is no bend. [any]
  func setTempo(_ tempo: Tempo, bentFrom below: Tempo?, at time: Micros) -> Reply {
    if let leader = state.leading.leader { return .notNow("\(leader) leads the tempo") }
    bend.ordered(tempo, below: below)
    link.updateAppState { $0.setTempo(tempo.beatsPerMinute, at: time) }
    return .accepted
  }

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
