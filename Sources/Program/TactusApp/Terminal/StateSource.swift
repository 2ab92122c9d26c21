// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkSystem
import TactusMIDI
import TactusOSC
import TactusSurface
import TactusTerminal

/// The tactus that a view shows, and to which the view sends the user's keys: the view's own program, or a
/// tactus that runs elsewhere. [view]
protocol StateSource: Sendable {
  var state: SurfaceState { get }
  /// Rings when there is something new to show.
  var news: WakeUp { get }
  /// Whether a key would have an effect.
  var takesKeys: Bool { get }
  /// The addresses for controllers. When they change, the view looks up `reach` again.
  var endpoints: [Endpoint] { get }
  var reach: Reach { get }
  /// The code that pairs a browser. nil: there is no page, or this program can't read the code.
  var pairingCode: String? { get }
  /// The machine on which the shown tactus runs; nil: this machine.
  var place: String? { get }
  func press(_ targets: [Target], at time: Micros)
}

/// This program, shown by its own view.
struct OwnView: StateSource {
  let desk: CommandHandler
  let isReachWanted: Bool
  let secrets: SecretFile

  var state: SurfaceState {
    var state = desk.state
    if let surface = desk.surface {
      (state.place, state.tempoWaiting) = (surface.place, surface.tempoWaiting)
    }
    return state
  }
  var news: WakeUp { desk.news }
  var takesKeys: Bool { desk.takesKeys }
  var endpoints: [Endpoint] { desk.endpoints }
  var reach: Reach { Reach(endpoints, isWanted: isReachWanted) }
  var pairingCode: String? { secrets.known?.groups }
  var place: String? { nil }
  func press(_ targets: [Target], at time: Micros) { desk.press(targets, at: time) }
}
