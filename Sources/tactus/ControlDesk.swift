// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import ControlSurface
import HostSync
import JACKHost
import Link
import LinkSession
import Synchronization

/// Between the control surface and the parts that do what it asks: takes its orders, keeps the user's choices, and
/// tells it how things are.
///
/// What touches the session goes to Link at once, what touches the sound to the audio thread at once; what needs JACK
/// waits for the control thread, which is woken.
final class ControlDesk: AudioDoor {
  /// What only the control thread may do.
  enum Wish {
    case transport(TransportCommand)
    case locate(Place)
    case toggle
    case takeTimebase
    case sound(Int)
    case quit
  }

  private struct Held {
    /// The user's choices are kept here and nowhere else.
    var state: SurfaceState
    /// What no controller changes.
    var base: Settings
    var wantsTimebase: Bool
    var wishes: [Wish] = []
    /// A start that asked for another moment than the setting says, until it is over.
    var launch: ControlSurface.Launch?
    var launchWasSeen = false
    var surface: OSCSurface?
  }

  /// Controllers may be hasty; what nobody fetched is refused.
  private static let wishLimit = 64

  private let link: Link
  private let exchange: AudioExchange
  private let held: Mutex<Held>
  private let wake: @Sendable () -> Void

  init(
    link: Link, exchange: AudioExchange, state: SurfaceState, base: Settings,
    wake: @escaping @Sendable () -> Void
  ) {
    self.link = link
    self.exchange = exchange
    self.wake = wake
    held = Mutex(Held(state: state, base: base, wantsTimebase: state.lead == .link))
  }

  var state: SurfaceState { held.withLock { $0.state } }
  var wantsTimebase: Bool { held.withLock { $0.wantsTimebase } }

  /// [control]
  func wantTimebase() {
    held.withLock { $0.wantsTimebase = true }
  }

  /// Whoever subscribes is told from now on. [control]
  func connect(_ surface: OSCSurface?) {
    held.withLock { $0.surface = surface }
  }

  /// [control]
  func takeWishes() -> [Wish] {
    held.withLock { held in
      defer { held.wishes = [] }
      return held.wishes
    }
  }

  /// How things are, as far as the control thread knows. [control]
  func tell(_ change: (inout SurfaceState) -> Void) {
    held.withLock { held in
      let before = held.state
      change(&held.state)
      if held.launch != nil { forgetLaunch(&held) }
      guard held.state != before else { return }
      held.surface?.update { [state = held.state] in $0 = state }
    }
  }

  private func forgetLaunch(_ held: inout Held) {
    switch held.state.transport {
    case .waiting: held.launchWasSeen = true
    case .stopped where !held.launchWasSeen: break
    case .stopped, .rolling:
      held.launch = nil
      held.launchWasSeen = false
      publish(held)
    }
  }

  // MARK: the session, as soon as it changes [network]

  let isRunning = false
  func nextChange() -> SessionChange? { nil }

  func publish(_ snapshot: SessionSnapshot) {
    held.withLock { held in
      Self.show(snapshot, in: &held.state)
      held.surface?.update { [state = held.state] in $0 = state }
    }
  }

  private static func show(_ snapshot: SessionSnapshot, in state: inout SurfaceState) {
    // HostSync numbers beats from the session's beat 0; so does what is shown.
    var timeline = snapshot.state.timeline
    timeline.beatOrigin = .zero
    state.timeline = timeline
    state.peers = snapshot.peerCount
    state.linkEnabled = snapshot.isEnabled
    if state.startStopSync { state.playing = snapshot.state.startStop.isPlaying }
  }

  // MARK: orders [OSC]

  func obey(_ order: Order) -> Verdict {
    switch order.command {
    case .tempo(let tempo):
      let leads = held.withLock { held in
        if case .other = held.state.timebase { held.state.lead != .link } else { false }
      }
      guard !leads else { return .notNow("another JACK client leads the tempo") }
      link.updateAppState { $0.setTempo(tempo.beatsPerMinute, at: order.time) }
    case .align:
      let quantum = held.withLock { $0.state.quantum }
      link.updateAppState { $0.requestBeat(0, at: order.time, quantum: quantum) }
    case .linkEnabled(let on):
      link.isEnabled = on
      choose { $0.linkEnabled = on }
    case .startStopSync(let on):
      link.isStartStopSyncEnabled = on
      choose { $0.startStopSync = on }
    case .start(let launch): return start(launch)
    case .stop: return wish(.transport(.stop))
    case .toggle: return wish(.toggle)
    case .rewind: return wish(.transport(.locate(frame: 0)))
    case .locate(let place): return wish(.locate(place))
    case .rolling(let on): return on ? start(nil) : wish(.transport(.stop))
    case .record(let on): choose { $0.recording = on }
    case .timebase(let on): held.withLock { $0.wantsTimebase = on }
    case .takeover: return wish(.takeTimebase)
    case .click(.sound(let index)): return wish(.sound(index), needsServer: false)
    case .quit: return wish(.quit, needsServer: false)
    case .lead(let lead):
      held.withLock { $0.wantsTimebase = lead == .link }
      choose { $0.lead = lead }
    case .quantum, .meter, .launch, .click, .clock, .pulse, .offset:
      choose { $0.choose(order.command) }
    }
    return .accepted
  }

  private func start(_ launch: ControlSurface.Launch?) -> Verdict {
    if let launch {
      held.withLock { held in
        guard held.state.jackConnected else { return }
        held.launch = launch
        held.launchWasSeen = false
        publish(held)
      }
    }
    return wish(.transport(.play))
  }

  private func wish(_ wish: Wish, needsServer: Bool = true) -> Verdict {
    let verdict: Verdict = held.withLock { held in
      guard held.state.jackConnected || !needsServer else { return .notNow("no JACK server") }
      guard held.wishes.count < Self.wishLimit else { return .notNow("too much at once") }
      held.wishes.append(wish)
      return .accepted
    }
    wake()
    return verdict
  }

  /// A choice reaches the audio thread before this returns.
  private func choose(_ change: (inout SurfaceState) -> Void) {
    held.withLock { held in
      change(&held.state)
      publish(held)
      held.surface?.update { [state = held.state] in $0 = state }
    }
  }

  /// With the lock held: of many threads that may publish, one at a time is the one writer.
  private func publish(_ held: Held) {
    exchange.publish(held.state.settings(from: held.base, launch: held.launch ?? held.state.launch))
  }
}
