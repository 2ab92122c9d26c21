// SPDX-License-Identifier: GPL-2.0-or-later
package import LinkAddresses
package import LinkBeatMath
package import LinkSession
internal import LinkSystem
internal import LinkWire
import Synchronization

// Start reading here for the app's side; `AudioHandle` is the audio thread's side, `NetworkThread` the loop,
// `Engine` its work, `GatewaySockets` the network. The protocol is in `LinkSession`.

/// A peer in an Ableton Link session: it shares tempo, beat, phase and start/stop with every Link program on
/// the network. LinkKit, for Linux and in Swift.
///
/// A `Link` does not play, draw or remember settings. It starts disabled. Its beats run from its creation on,
/// with or without peers.
///
/// Capture a state, read and edit it, and commit it. On an app's thread:
///
///     let link = Link()
///     link.isEnabled = true
///     link.update { state, now in state.setTempo(126, at: now) }
///
/// and in the audio callback through ``takeAudio()``. All times are times at output: when the sample is
/// *heard*.
///
/// The audio thread uses its ``AudioHandle`` and the calls marked real-time-safe, which never wait. Most
/// other calls take a lock, which is held for at most one datagram, and never while sending. Callbacks come
/// on Link's own thread.
public final class Link: Sendable {
  private let status = LinkStatus()
  let network: NetworkThread
  private let room: AudioRoom
  private let isRoomAttached = Atomic(false)
  private let isAudioReserved = Atomic(false)

  /// Creates a disabled instance, whose beat 0 is now.
  ///
  /// If no thread or descriptor is free, the instance works alone, reports the reason in ``diagnostics``, and
  /// retries at later calls.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public convenience init(configuration: Configuration) throws(ConfigurationError) {
    try configuration.check()
    self.init(configuration, far: nil)
  }

  /// Creates a disabled instance on all interfaces.
  ///
  /// - Parameter tempo: The tempo until a peer is found, clamped to 20...999 BPM; 120 replaces NaN.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public convenience init(tempo: Double = 120) {
    self.init(Configuration(tempo: tempo), far: nil)
  }

  /// Creates a disabled instance. With far settings, it is a relay between this room and others.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  package init(_ configuration: Configuration, far: FarSettings?) {
    var configuration = configuration
    if configuration.tempo.isNaN { configuration.tempo = Configuration().tempo }
    var generator = SystemRandomNumberGenerator()
    network = NetworkThread(configuration, seed: generator.next(), far: far, status: status)
    room = AudioRoom(network.engine.withLock { $0.snapshot })
    network.startIfNeeded(at: HostClock.micros())
    if configuration.isStartStopSyncEnabled { isStartStopSyncEnabled = true }
  }

  /// Says goodbye to the peers. No callback is called afterwards. The release waits for a running callback,
  /// unless that callback has released the last reference.
  deinit {
    network.end()
  }

  /// Whether the user wants Link. Link is on the network only if ``isActive`` is true, too.
  ///
  /// Thread-safe: yes. Real-time-safe: no, writing it may wait.
  public var isEnabled: Bool {
    get { status.isEnabled.load(ordering: .relaxed) }
    set {
      status.isEnabled.store(newValue, ordering: .relaxed)
      considerNetwork()
    }
  }

  /// Whether the program wants Link now: a program that cannot be heard should not count as a peer. Initially
  /// true.
  ///
  /// Thread-safe: yes. Real-time-safe: no, writing it may wait.
  public var isActive: Bool {
    get { status.isActive.load(ordering: .relaxed) }
    set {
      status.isActive.store(newValue, ordering: .relaxed)
      considerNetwork()
    }
  }

  /// Whether starts and stops are shared with the peers. Switching it on changes nothing by itself: the
  /// peers' state is followed from their next change on. So a peer that joins a playing session does not
  /// start; it follows the next change. Initially false.
  ///
  /// Thread-safe: yes. Real-time-safe: no, writing it may wait.
  public var isStartStopSyncEnabled: Bool {
    get { status.isStartStopSyncEnabled.load(ordering: .relaxed) }
    set { turn(status.isStartStopSyncEnabled, newValue, by: .enableStartStopSync(newValue)) }
  }

  /// Whether the song line (a beat of the session, and the beat of the song there) is shared with the other
  /// tactus programs of the session. While this is off, no song line is sent, and those of others are
  /// ignored. Initially false.
  ///
  /// Thread-safe: yes. Real-time-safe: no, writing it may wait.
  package var isSongSyncEnabled: Bool {
    get { status.isSongSyncEnabled.load(ordering: .relaxed) }
    set { turn(status.isSongSyncEnabled, newValue, by: .enableSongSync(newValue)) }
  }

  /// Switches a sync on or off, in the status that other threads see and in the session.
  private func turn(_ shown: borrowing Atomic<Bool>, _ isOn: Bool, by input: LinkSession.Input) {
    network.withEngine { engine, now in
      shown.store(isOn, ordering: .relaxed)
      engine.switchSync(input, at: now)
    }
  }

  /// Whether there is at least one peer in our session. An audio callback asks its captured state.
  ///
  /// Thread-safe: yes. Real-time-safe: no, but it never waits.
  public var isConnected: Bool { status.isConnected.load(ordering: .relaxed) }

  /// The number of peers in our session, without ourselves.
  ///
  /// Thread-safe: yes. Real-time-safe: no, but it never waits.
  public var peerCount: Int { status.peerCount.load(ordering: .relaxed) }

  /// The session's tempo in BPM. A peer's tempo has whole microseconds per beat, so it is off by up to some
  /// thousandths; round it to show it. An audio callback asks its captured state.
  ///
  /// Thread-safe: yes. Real-time-safe: no, but it never waits.
  public var tempo: Double { Double(bitPattern: status.tempo.load(ordering: .relaxed)) }

  /// Whether this program plays, or will play from the time of the start on. An audio callback asks its
  /// captured state.
  ///
  /// Thread-safe: yes. Real-time-safe: no, but it never waits.
  public var isPlaying: Bool { status.isPlaying.load(ordering: .relaxed) }

  /// The present host time.
  @_noLocks @_noAllocation
  package static func clock() -> Micros { HostClock.micros() }

  /// Returns the handle for the audio callback. There is only one handle: the result is nil while another
  /// part of the program has it. Releasing the handle gives it back.
  ///
  /// Thread-safe: yes. Real-time-safe: no, so take it before the audio starts.
  public func takeAudio() -> AudioHandle? {
    guard let audio = AudioHandle(room) else { return nil }
    if !isRoomAttached.exchange(true, ordering: .acquiringAndReleasing) { attach(room) }
    return audio
  }

  /// Connects a part of the program that has its own audio thread and handoffs. `Link` keeps it until
  /// `detach`.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  package func attach(_ door: any SessionObserver) {
    network.withEngine { engine, _ in engine.attach(door) }
    network.wake()
  }

  /// Wakes Link's thread. Call this function when the `pace` of an attached part has changed to a sooner
  /// pace.
  package func wake() { network.wake() }

  /// Takes over the changes that the attached part has committed, then disconnects that part.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  package func detach(_ door: any SessionObserver) {
    network.withEngine { engine, now in engine.detach(door, at: now) }
  }

  /// Reserves this peer for a `LinkAudio`, until `releaseAudio`. Returns false if another `LinkAudio` has
  /// reserved it.
  package func reserveAudio() -> Bool { !isAudioReserved.exchange(true, ordering: .acquiringAndReleasing) }

  /// Ends the reservation, so that another `LinkAudio` may use this peer.
  package func releaseAudio() { isAudioReserved.store(false, ordering: .releasing) }

  /// Connects a receiver for Link Audio. The receiver gets the present state at once, and then each change.
  /// There is one receiver at a time; `Link` keeps it until `stopListening`.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  package func listen(_ listener: any AudioListener) {
    network.withEngine { engine, _ in engine.listen(listener) }
  }

  /// Disconnects the receiver, and announces to the peers that our audio sockets are closed.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  package func stopListening() {
    network.withEngine { engine, now in engine.stopListening(at: now) }
  }

  /// Announces our audio socket on a gateway to the peers at once; nil: the socket is closed. The listener
  /// then receives the announcements of the peers' audio sockets there.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  package func setAudioSocket(_ endpoint: Endpoint?, on gateway: GatewayID) {
    network.withEngine { engine, now in engine.setAudioSocket(endpoint, on: gateway, at: now) }
  }

  /// The state of the session, for a view or a test.
  ///
  /// Thread-safe: yes. Real-time-safe: no, it may wait.
  package var snapshot: SessionSnapshot {
    network.withEngine { engine, now in
      engine.collectAudioChanges(at: now)
      return engine.snapshot
    }
  }

  /// Whether Link should be on the network and cannot.
  package var isMute: Bool { status.isMute.load(ordering: .relaxed) }

  /// The state of the network, for a user without peers.
  ///
  /// Thread-safe: yes. Real-time-safe: no, it may wait.
  public var diagnostics: Diagnostics {
    network.withEngine { engine, _ in Diagnostics(engine, network.failure) }
  }

  /// The report on the other rooms; nil if none are configured.
  ///
  /// Thread-safe: yes. Real-time-safe: no, it may wait.
  package var farReport: FarReport? {
    network.withEngine { engine, now in
      engine.far?.report { engine.session.farMeasure(of: $0, at: now) }
    }
  }

  private func considerNetwork() {
    network.withEngine { engine, now in
      // Both values are read inside the lock: if two threads change them at once, the later thread sees both
      // changes.
      engine.want(
        status.isEnabled.load(ordering: .relaxed) && status.isActive.load(ordering: .relaxed), at: now)
    }
  }
}
