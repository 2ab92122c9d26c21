// SPDX-License-Identifier: GPL-2.0-or-later
package import Addresses
@_exported public import BeatMath
package import LinkSession
internal import LinkWire
internal import Linux
import Synchronization

/// A peer in an Ableton Link session: tempo, beat, phase and start/stop in common with every Link program on the
/// network. LinkKit, for Linux and in Swift.
///
/// What it does not do: play, draw, remember settings. It starts disabled; the beat runs from the moment it is
/// created, alone or not.
///
/// A state is captured, asked, edited and committed. On an app's thread:
///
///     let link = Link(tempo: 120)
///     link.isEnabled = true
///     var state = link.captureAppState()
///     state.setTempo(126, at: Link.clock())
///     link.commitAppState(state)
///
/// and in the audio callback through ``takeAudio()``. All times are host times at output: when the sample is *heard*.
///
/// The invariant: the audio thread touches `AudioLink` and the calls marked real-time-safe, which never wait;
/// everything else takes a lock for as long as a datagram is worked on, and under it nothing is sent. Callbacks come on Link's own thread.
///
/// Way in: this file is the app's side, `AudioLink` the audio thread's, `NetworkThread` the loop, `Engine` what it
/// does, `GatewaySockets` the network; the protocol itself is `LinkSession`.
public final class Link: Sendable {
  private let status = LinkStatus()
  let network: NetworkThread
  private let room: AudioRoom
  private let isRoomAttached = Atomic(false)

  /// An instance on its own, disabled, with a beat that starts at 0 now.
  ///
  /// Where there is no thread or descriptor to be had it works alone, says so in ``diagnostics``, and tries again
  /// whenever it is asked something.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public convenience init(configuration: Configuration) throws(ConfigurationError) {
    try configuration.check()
    self.init(configuration, far: nil)
  }

  /// The same on all interfaces, with a tempo that is clamped to 20...999 BPM; 120 if it is not a number.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public convenience init(tempo: Double) {
    self.init(Configuration(tempo: tempo), far: nil)
  }

  /// With far settings: as a relay between this room and others.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  package init(_ configuration: Configuration, far: FarSettings?) {
    var configuration = configuration
    if configuration.tempo.isNaN { configuration.tempo = Configuration().tempo }
    var generator = SystemRandomNumberGenerator()
    network = NetworkThread(configuration, seed: generator.next(), far: far, status: status)
    room = AudioRoom(network.engine.withLock { $0.snapshot })
    network.startIfNeeded(at: HostClock.micros())
  }

  /// Says goodbye to the peers. After it no callback is called; one that is under way is waited for, unless it is
  /// the one that let the last reference go.
  deinit {
    network.end()
  }

  /// Whether the user wants Link. On the network only while ``isActive`` too.
  ///
  /// Thread-safe: yes. Real-time-safe: reading yes, writing no.
  public var isEnabled: Bool {
    get { status.isEnabled.load(ordering: .relaxed) }
    set {
      status.isEnabled.store(newValue, ordering: .relaxed)
      considerNetwork()
    }
  }

  /// Whether the program wants Link now; a program that can't be heard should not be counted as a peer. True at
  /// first.
  ///
  /// Thread-safe: yes. Real-time-safe: reading yes, writing no.
  public var isActive: Bool {
    get { status.isActive.load(ordering: .relaxed) }
    set {
      status.isActive.store(newValue, ordering: .relaxed)
      considerNetwork()
    }
  }

  /// Whether starts and stops are shared with the peers. A switch only: the state of others is followed from their
  /// next change on. False at first.
  ///
  /// Thread-safe: yes. Real-time-safe: reading yes, writing no.
  public var isStartStopSyncEnabled: Bool {
    get { status.isStartStopSyncEnabled.load(ordering: .relaxed) }
    set {
      network.withEngine { engine, now in
        status.isStartStopSyncEnabled.store(newValue, ordering: .relaxed)
        engine.enableStartStopSync(newValue, at: now)
      }
    }
  }

  /// Whether there is at least one peer in our session.
  ///
  /// Thread-safe: yes. Real-time-safe: yes.
  public var isConnected: Bool { status.isConnected.load(ordering: .relaxed) }

  /// How many peers are in our session, ourselves not counted.
  ///
  /// Thread-safe: yes. Real-time-safe: yes.
  public var peerCount: Int { status.peerCount.load(ordering: .relaxed) }

  /// Link's host time now.
  ///
  /// Thread-safe: yes. Real-time-safe: yes.
  @_noLocks @_noAllocation
  public static func clock() -> Micros { HostClock.micros() }

  /// The session as of now, for everything but the audio callback.
  ///
  /// Thread-safe: yes. Real-time-safe: no, it may wait.
  public func captureAppState() -> SessionState {
    network.withEngine { engine, now in
      engine.collectAudioChanges(at: now)
      return engine.snapshot.state
    }
  }

  /// Puts what was changed in `state` since its capture into the session, and on the network at once. An unchanged
  /// state does nothing. A change of tempo or beat that was meant for a session which we have left since is
  /// dropped: joining a session never changes it.
  ///
  /// Thread-safe: yes. Real-time-safe: no, it may wait.
  public func commitAppState(_ state: SessionState) {
    network.withEngine { engine, now in
      if let change = state.change(at: now) { engine.commit(change, at: now) }
    }
  }

  /// Captures, edits and commits in one, so that nothing comes between.
  ///
  /// Thread-safe: yes. Real-time-safe: no. `edit` must not call Link.
  public func updateAppState(_ edit: (inout SessionState) -> Void) {
    network.withEngine { engine, now in
      engine.collectAudioChanges(at: now)
      var state = engine.snapshot.state
      edit(&state)
      if let change = state.change(at: now) { engine.commit(change, at: now) }
    }
  }

  /// Link for the audio callback. There is one: nil while somebody has it. Anyone who lets it go gives it back.
  ///
  /// Thread-safe: yes. Real-time-safe: no: take it before the audio starts.
  public func takeAudio() -> AudioLink? {
    guard let audio = AudioLink(room) else { return nil }
    if !isRoomAttached.exchange(true, ordering: .acquiringAndReleasing) { attach(room) }
    return audio
  }

  /// Connects a part that has an audio thread and handoffs of its own. Kept until `detach`.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  package func attach(_ door: any AudioDoor) {
    network.withEngine { engine, _ in engine.attach(door) }
    network.wake()
  }

  /// A door has changed its pace for the sooner.
  package func look() { network.wake() }

  /// What it committed until now is worked in; nothing after.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  package func detach(_ door: any AudioDoor) {
    network.withEngine { engine, now in engine.detach(door, at: now) }
  }

  /// Connects who takes part in Link Audio: it is told at once what there is, and then each change. One at a time. Kept until
  /// `stopListening`.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  package func listen(_ listener: any AudioListener) {
    network.withEngine { engine, _ in engine.listen(listener) }
  }

  /// Says that our audio sockets are closed.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  package func stopListening() {
    network.withEngine { engine, now in engine.stopListening(at: now) }
  }

  /// The peers hear of it at once, and the listener of all who have such a socket. Nil: it is closed.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  package func setAudioSocket(_ endpoint: Endpoint?, on gateway: GatewayID) {
    network.withEngine { engine, now in engine.setAudioSocket(endpoint, on: gateway, at: now) }
  }

  /// Everything about the session, for a view or a test.
  ///
  /// Thread-safe: yes. Real-time-safe: no, it may wait.
  package var snapshot: SessionSnapshot {
    network.withEngine { engine, now in
      engine.collectAudioChanges(at: now)
      return engine.snapshot
    }
  }

  /// Whether it should be on the network and can't.
  package var isMute: Bool { status.isMute.load(ordering: .relaxed) }

  /// How the network is doing.
  ///
  /// Thread-safe: yes. Real-time-safe: no, it may wait.
  public var diagnostics: Diagnostics {
    network.withEngine { engine, _ in Diagnostics(engine, network.failure) }
  }

  /// The other rooms; nil: none are wanted.
  ///
  /// Thread-safe: yes. Real-time-safe: no, it may wait.
  package var farReport: FarReport? {
    network.withEngine { engine, now in
      engine.far?.report { engine.session.farMeasure(of: $0, at: now) }
    }
  }

  private func considerNetwork() {
    network.withEngine { engine, now in
      // Read inside the lock: of two threads that change their mind at once, the last one's view is whole.
      engine.want(
        status.isEnabled.load(ordering: .relaxed) && status.isActive.load(ordering: .relaxed), at: now)
    }
  }

  // A callback may be changed at any time, also from a callback; nil for none. It is called on Link's own thread,
  // without a lock, and not for what happened before it was set. A call that is under way on that thread while
  // another sets a new one is finished. It should not take long: the network waits for it.

  /// Called with the session's tempo in BPM when anybody has changed it. A steady value, to be shown.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public func onTempo(_ body: (@Sendable (Double) -> Void)?) {
    network.audience.parts.withLock { $0.tempo.callback = body }
  }

  /// Called when this client starts or stops: by its own doing, or with start/stop sync by a peer's.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public func onStartStop(_ body: (@Sendable (Bool) -> Void)?) {
    network.audience.parts.withLock { $0.startStop.callback = body }
  }

  /// Called with the number of peers in our session when it has changed.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public func onPeers(_ body: (@Sendable (Int) -> Void)?) {
    network.audience.parts.withLock { $0.peers.callback = body }
  }

  /// Called when the first peer has come and when the last has gone, also when Link was disabled meanwhile.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public func onConnection(_ body: (@Sendable (Bool) -> Void)?) {
    network.audience.parts.withLock { $0.connection.callback = body }
  }
}
