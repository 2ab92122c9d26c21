// SPDX-License-Identifier: GPL-2.0-or-later
@_exported public import AudioLanes
@_exported public import Link
@_exported public import LinkAudioSession
public import LinkWire
import LinkSystem

/// Link Audio beside a `Link`: sends our channels to the peers of its session, and receives theirs.
///
/// It does not play, record or remember. It starts disabled, and is on the network while both it and its
/// `Link` are enabled.
///
///     let link = Link(tempo: 120)
///     let audio = LinkAudio(link, peerName: "Rack")
///     link.isEnabled = true
///     audio.isEnabled = true
///
/// An input is sent through a `SendLane`, whose `audio` is for the audio thread, and an output is played
/// through a `ReceiveLane`:
///
///     let lane = SendLane(channels: 2)
///     let sink = audio.publish(lane, as: "Drums")          // until `sink` is released
///     let source = audio.subscribe(played, to: channel.id)  // of `channels`
///
/// Both relate times and beats by a `SessionGrid`, which is made from a captured state. <doc:FirstChannels>
/// shows the whole.
///
/// The invariant: audio threads never wait for a lane. All other calls take a lock, which is held for at most
/// one datagram, and never while reading or sending; turning it off waits until the goodbyes are sent. It
/// never holds Link's lock: each has its own thread and sockets, so that streams do not disturb pings.
///
/// Start reading here and at `AudioDiagnostics` for the app's side. `AudioThread` is the loop, `AudioEngine`
/// its work, `Delivery` sends, `AudioMail` brings news from `Link`. The protocol is in `LinkAudioSession`,
/// samples are in `LinkAudioPath`.
public final class LinkAudio: Sendable {
  private let link: Link
  let thread: AudioThread

  /// Starts disabled and without channels. Cuts the name after 256 bytes.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public init(_ link: Link, peerName: String) {
    self.link = link
    thread = AudioThread(link, peerName: peerName)
    thread.startIfNeeded()
  }

  /// Says goodbye to the peers. No callback is called afterwards. A running callback is awaited, unless it is
  /// the one that released the last reference.
  deinit { thread.end() }

  /// Whether the user wants Link Audio. Turning it off takes effect at once, goodbyes included.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public var isEnabled: Bool {
    get { thread.ask { $0.isWanted } }
    set {
      thread.change { engine, now in engine.want(newValue, at: now) }
      if !newValue { thread.deliver() }
    }
  }

  /// Our own name, as peers show it.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public var peerName: String {
    get { thread.ask { $0.peerName } }
    set { thread.change { engine, now in engine.rename(to: newValue, at: now) } }
  }

  /// The channels of peers in our session, sorted by the names of peer and channel.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public var channels: [AudioChannel] { thread.ask { $0.channels } }

  /// Called with all channels of peers when any of them has changed, on Link Audio's own thread, without a
  /// lock; not for changes before it was set. It should be short: audio waits for it.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public func onChannels(_ body: (@Sendable ([AudioChannel]) -> Void)?) {
    thread.callback.withLock { $0 = body }
  }

  /// Publishes the audio of `lane` as a channel until the sink is released. Returns nil if there are too
  /// many.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public func publish(_ lane: SendLane, as name: String) -> AudioSink? {
    thread.change { engine, now in engine.publish(lane, as: name, at: now) }
      .map { AudioSink(id: $0, thread: thread) }
  }

  /// Receives a channel into `lane` until the source is released. The channel need not be there yet, and may
  /// go and come back. Returns nil if there are too many.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public func subscribe(_ lane: ReceiveLane, to channel: ChannelID) -> AudioSource? {
    thread.change { engine, now in engine.subscribe(lane, to: channel, at: now) }
      .map { AudioSource(channel: channel, lane: lane, id: $0, thread: thread) }
  }

  /// The state of Link Audio, for a user who hears nothing.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public var diagnostics: AudioDiagnostics {
    let failure = thread.failure
    let urgency = thread.urgency
    let failedSends = thread.failedSendCount
    return thread.ask { AudioDiagnostics($0, failure, urgency, failedSends: failedSends) }
  }
}

/// The id of a channel on the network, as long as the channel lives.
public typealias ChannelID = LinkWire.ChannelID

/// A channel of ours. It closes, with a goodbye to its subscribers, when its last reference is released. It
/// keeps its lane alive. As long as the audio thread has the lane's end, keep a reference yourself.
public final class AudioSink: Sendable {
  /// The id by which peers subscribe.
  public let id: ChannelID
  private let thread: AudioThread

  init(id: ChannelID, thread: AudioThread) {
    self.id = id
    self.thread = thread
  }

  deinit { thread.change { engine, now in engine.unpublish(id, at: now) } }

  /// Renames the channel; cuts the name after 256 bytes.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public func rename(to name: String) {
    thread.change { engine, now in engine.rename(id, to: name, at: now) }
  }

  /// The number of peers that it is sent to now.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public var listenerCount: Int { thread.ask { $0.listenerCount(of: id) } }
}

/// A subscription to a peer's channel. It ends when its last reference is released. It keeps its lane alive.
/// As long as the audio thread has the lane's end, keep a reference yourself.
public final class AudioSource: Sendable {
  /// The channel that was subscribed to.
  public let channel: ChannelID
  private let lane: ReceiveLane
  private let id: SourceID
  private let thread: AudioThread

  init(channel: ChannelID, lane: ReceiveLane, id: SourceID, thread: AudioThread) {
    self.channel = channel
    self.lane = lane
    self.id = id
    self.thread = thread
  }

  deinit { thread.change { engine, now in engine.release(id, lane, at: now) } }

  /// Whether its channel is there. The lane's figures say whether it is played.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public var isConnected: Bool { thread.ask { $0.isConnected(id) } }
}
