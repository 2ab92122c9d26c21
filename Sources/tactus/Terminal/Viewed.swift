// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import ControlSurface
import Linux
import MIDIControl
import OSC
import TerminalView

/// What a view shows, and whom its keys reach: the program that it belongs to, or one that runs elsewhere. [view]
protocol Viewed: Sendable {
  var state: SurfaceState { get }
  /// Heard when there is something new to see.
  var news: WakeUp { get }
  /// Somebody would hear a key.
  var takesKeys: Bool { get }
  /// Where controllers reach it; other ones are a reason to look at `reach` again.
  var endpoints: [Endpoint] { get }
  var reach: Reach { get }
  /// What pairs a browser with it. nil: there is no page, or its code is not to be had here.
  var pairingCode: String? { get }
  /// In which place it runs. nil: here.
  var place: String? { get }
  func press(_ targets: [Target], at time: Micros)
}

/// This program, as its own view shows it.
struct OwnView: Viewed {
  let desk: ControlDesk
  let isReachWanted: Bool
  let secrets: SecretFile

  var state: SurfaceState { desk.state }
  var news: WakeUp { desk.news }
  var takesKeys: Bool { desk.takesKeys }
  var endpoints: [Endpoint] { desk.endpoints }
  var reach: Reach { Reach(endpoints, isWanted: isReachWanted) }
  var pairingCode: String? { secrets.known?.groups }
  var place: String? { nil }
  func press(_ targets: [Target], at time: Micros) { desk.press(targets, at: time) }
}
