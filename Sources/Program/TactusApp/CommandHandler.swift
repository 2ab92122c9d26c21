// SPDX-License-Identifier: GPL-2.0-or-later
import Link
import LinkBeatMath
import LinkSession
import LinkSystem
import Synchronization
import TactusChoices
import TactusJACK
import TactusMIDI
import TactusOSC
import TactusSurface
import TactusSync

/// Carries out the control surface's commands, keeps the user's choices, and shows the surface the program's
/// state.
///
/// A command that changes the session goes to Link at once. A command that changes the sound goes to the
/// audio thread at once. A command that needs JACK waits for the control thread, which is woken.
final class CommandHandler: SessionObserver {
  private struct State {
    /// The only copy of the user's choices.
    var state: SurfaceState
    /// `state` without the choices of unpaired controllers: tactus does not remember those.
    var lasting: SurfaceState
    /// Whether a choice or the tempo has changed since the last `takeLasting`.
    var isChosen = false
    var wantsTimebase: Bool
    /// Commands that wait for the control thread.
    var commands: [Command] = []
    /// Whether a requested save may overwrite a file; nil: no save is requested.
    var asksToSave: Bool?
    /// The numbers of peers since the last `takePeerCounts`, oldest first.
    var peerCounts: [Int] = []
    var wasPlaying = false
    var songDecision: UInt64 = 0
    var launch: AskedLaunch?, queued: QueuedChange?
    var surface: OSCSurface?

    /// The choices as the audio thread gets them; a start can override the launch moment.
    var settings: Settings {
      var settings = state.heardChoices
      if let launch { settings.launch.moment = launch.moment }
      settings.queued = queued
      return settings
    }

    var remembered: SurfaceState {
      var remembered = lasting
      remembered.timeline = state.timeline
      remembered.chosenTempo = state.chosenTempo
      return remembered
    }
  }

  /// How many commands, and how many changes of the number of peers, can wait for the control thread. Further
  /// commands are refused, and further changes are left out.
  private static let (commandLimit, peerCountLimit) = (64, 16)

  let link: Link
  private let exchange: AudioExchange
  private let door: SessionActions
  private let held: Mutex<State>
  let bend = HeldBend()
  let wake: @Sendable () -> Void
  /// Rings when a choice or the session has changed, so that the view shows a key's effect at once.
  let news = WakeUp()

  init(
    link: Link, exchange: AudioExchange, door: SessionActions, state: SurfaceState,
    wake: @escaping @Sendable () -> Void
  ) {
    self.link = link
    self.exchange = exchange
    self.door = door
    self.wake = wake
    held = Mutex(State(state: state, lasting: state, wantsTimebase: state.choices.lead.wantsTimebase))
  }

  var state: SurfaceState { held.withLock { $0.state } }
  var settings: Settings { held.withLock { $0.settings } }
  /// The state to remember. Its tempo is the session's, except for a tempo that a leader dictated or that a
  /// bend by hand caused.
  var lasting: SurfaceState { held.withLock { $0.remembered } }

  /// Returns the state to remember; nil: unchanged since the last call. [control]
  func takeLasting() -> SurfaceState? {
    held.withLock { held in
      defer { held.isChosen = false }
      return held.isChosen ? held.remembered : nil
    }
  }

  var wantsTimebase: Bool { held.withLock { $0.wantsTimebase } }

  /// Requests that tactus becomes timebase master. [control]
  func wantTimebase() { held.withLock { $0.wantsTimebase = true } }

  /// The open surface.
  var surface: OSCSurface? { held.withLock { $0.surface } }

  /// The addresses at which controllers reach us now.
  var endpoints: [Endpoint] { held.withLock { $0.surface?.endpoints ?? [] } }

  /// From now on, sends changes to this surface's subscribers. [control]
  func connect(_ surface: OSCSurface?) { held.withLock { $0.surface = surface } }

  /// Takes the commands that wait for the control thread. [control]
  func takeCommands() -> [Command] { held.withLock { take(all: &$0.commands) } }

  /// Whether a requested save may overwrite a file; nil: no save was requested since the last call. [control]
  func takeSaving() -> Bool? { held.withLock { $0.asksToSave.take() } }

  /// Every number of peers since the last call, so that a peer is reported even if it left and came back
  /// meanwhile. [control]
  func takePeerCounts() -> [Int] { held.withLock { take(all: &$0.peerCounts) } }

  private func take<Element>(all list: inout [Element]) -> [Element] {
    defer { list = [] }
    return list
  }

  /// Changes the state that is shown. [control]
  func tell(_ change: (inout SurfaceState) -> Void) {
    held.withLock { held in
      let before = held.state
      change(&held.state)
      held.launch?.poll(at: held.state.transport, Link.clock())
      if held.launch?.isOver == true {
        held.launch = nil
        publish(held)
      }
      held.state.askedLaunch = held.launch?.moment
      guard held.state != before else { return }
      held.surface?.update { [state = held.state] in $0 = state }
    }
  }

  // MARK: the session, as soon as it changes [any]

  let pace = CommitPace.never
  func nextChange() -> SessionChange? { nil }

  func publish(_ snapshot: SessionSnapshot) {
    let isUrgent = held.withLock { held in
      let (isPlaying, decision) = (snapshot.state.isPlaying, snapshot.state.songDecision)
      defer { (held.wasPlaying, held.songDecision) = (isPlaying, decision) }
      if held.state.link.peers != snapshot.peerCount, held.peerCounts.count < Self.peerCountLimit {
        held.peerCounts.append(snapshot.peerCount)
      }
      if snapshot.state.timeline.tempo != held.state.tempo { held.isChosen = true }
      show(snapshot, in: &held.state)
      held.surface?.update { [state = held.state] in $0 = state }
      return held.wasPlaying != isPlaying || held.songDecision != decision
    }
    news.signal()
    // Start at once: the control thread may look only 20 ms later, and a start just before a bar would
    // then wait for the bar after it.
    if isUrgent { wake() }
  }

  private func show(_ snapshot: SessionSnapshot, in state: inout SurfaceState) {
    // The audio thread counts beats from the session's beat 0, and the shown beats must agree with it.
    var timeline = snapshot.state.timeline
    timeline.beatOrigin = .zero
    if let below = bend.below(timeline.tempo) {
      state.chosenTempo = below
    } else if timeline.tempo != state.tempo {
      state.chosenTempo = door.isDictated(timeline.tempo) ? state.chosenTempo ?? state.tempo : nil
    }
    state.timeline = timeline
    state.link.peers = snapshot.peerCount
    if state.choices.syncsStartStop { state.link.isPlaying = snapshot.state.startStop.isPlaying }
  }

  /// Carries out a key of the terminal view that was pressed at `time`. [view]
  func press(_ targets: [Target], at time: Micros) { held.withLock { $0.surface }?.press(targets, at: time) }

  /// Carries out a MIDI message from `control`; the surface knows its binding. [control]
  func play(_ message: ControlMessage) {
    guard let event = MIDIMessage(message.bytes) else { return }
    held.withLock { $0.surface }?.receive(event, at: message.moment)
  }

  // MARK: commands [any]

  func obey(_ order: Order) -> Reply { obey(order.command, at: order.time, lasts: order.isPaired) }

  /// Carries out a command. `time`: when the change was meant to happen. `lasts`: whether tactus keeps the
  /// change over a restart.
  func obey(_ command: Command, at time: Micros, lasts: Bool = true) -> Reply {
    switch command {
    case .tempo(let tempo): return setTempo(tempo, bentFrom: nil, at: time)
    case .bentTempo(let tempo, let below): return setTempo(tempo, bentFrom: below, at: time)
    case .bend(let bend): choose(false) { $0.choices.bend = bend }
    case .align:
      let quantum = held.withLock { $0.state.choices.quantum }
      link.updateAppState { $0.requestBeat(0, at: time, quantum: quantum) }
    case .choose(let choice, let values):
      choose(lasts) { choice.choose(&$0.choices, values) }
      // The control thread looks for the click's cable.
      if lasts, command.switchesClickOn { _ = queue(command) }
    case .start(let launch): return playAlone(true, on: launch, at: time) ?? start(launch)
    case .stop: return playAlone(false, at: time) ?? stop()
    case .toggle: return playAlone(nil, at: time) ?? queue(.toggle)
    case .rewind: return queue(.locate(.beat(0)))
    case .locate(let place):
      let isThere = held.withLock { $0.state.frame(of: place, sampleRate: $0.state.jack.sampleRate) != nil }
      return isThere ? queue(.locate(place)) : .refused(Self.tooFar)
    case .rolling(let on): return on ? start(nil) : stop()
    case .timebase(false): held.withLock { $0.wantsTimebase = false }
    case .timebase, .takeover: return queue(command)
    case .channel(let order, let isOn):
      return attempt(lasts) { state throws(Refusal) in try state.change(order, isOn: isOn) }
    case .roomOffset(let room, let offset):
      return attempt(lasts) { state throws(Refusal) in try state.setOffset(offset, of: room) }
    case .output(let output): return put(output, lasts: lasts)
    case .removeOutput(let name): return removeOutput(name, lasts: lasts)
    case .song(let song): return put(song, lasts: lasts)
    case .removeSong(let title): return removeSong(title, lasts: lasts)
    case .save(let replacing):
      held.withLock { $0.asksToSave = replacing || $0.asksToSave == true }
      wake()
    case .quit: Signals.end()
    }
    return .accepted
  }

  static let tooFar = Refusal(.range, "too far: JACK's frame counter does not reach there")

  /// Without a JACK server, sets the session's playing state if starts and stops are synced. A start waits
  /// for its bar or beat. nil: there is a server, or starts are not synced.
  private func playAlone(_ isPlaying: Bool?, on launch: LaunchMoment? = nil, at time: Micros) -> Reply? {
    let state = held.withLock { $0.state }
    guard !state.jack.isRunning, state.choices.syncsStartStop else { return nil }
    var choices = state.choices
    if let launch { choices.launch.moment = launch }
    let step = choices.launchStep.value
    link.updateAppState { $0.play(isPlaying ?? !$0.isPlaying, on: step, at: time) }
    return .accepted
  }

  private func start(_ launch: LaunchMoment?) -> Reply {
    if let launch { ask(for: launch) }
    return queue(.start(nil))
  }

  private func stop() -> Reply {
    ask(for: nil)
    return queue(.stop)
  }

  private func ask(for launch: LaunchMoment?) {
    held.withLock { held in
      guard held.state.jack.isRunning else { return }
      held.launch = launch.map { AskedLaunch($0, at: Link.clock()) }
      publish(held)
    }
  }

  private func queue(_ command: Command) -> Reply {
    let verdict: Reply = held.withLock { held in
      guard held.state.jack.isRunning else { return .notNow("no JACK server") }
      guard held.commands.count < Self.commandLimit else { return .notNow("too many commands at once") }
      held.commands.append(command)
      return .accepted
    }
    wake()
    return verdict
  }

  /// Changes a choice; the audio thread has it before this returns.
  func choose(_ lasts: Bool, _ change: (inout SurfaceState) -> Void) {
    let (before, now) = held.withLock { held in
      let before = held.state.choices
      held.state.choose(at: Link.clock(), change)
      if lasts { change(&held.lasting) }
      held.isChosen = true
      if held.state.choices.lead != before.lead { held.wantsTimebase = held.state.choices.lead.wantsTimebase }
      publish(held)
      held.surface?.update { [state = held.state] in $0 = state }
      return (before, held.state.choices)
    }
    news.signal()
    if now.isLinkEnabled != before.isLinkEnabled { link.isEnabled = now.isLinkEnabled }
    if now.syncsStartStop != before.syncsStartStop { link.isStartStopSyncEnabled = now.syncsStartStop }
    let isSameForControl = now.click.sound == before.click.sound && now.opensPage == before.opensPage
    if !isSameForControl || now.audio.isOn != before.audio.isOn { wake() }
  }

  /// Gives the audio thread the next queued change, which waits for its beat. [any]
  func expect(_ change: QueuedChange?) {
    held.withLock { held in
      held.queued = change
      publish(held)
    }
  }

  /// Call it with the lock held: `exchange` allows one writer at a time.
  private func publish(_ held: State) { exchange.publish(held.settings) }
}
