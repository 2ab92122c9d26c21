// SPDX-License-Identifier: GPL-2.0-or-later
@_exported public import AudioLanes
@_exported public import Link
@_exported public import LinkAudioSession
public import LinkWire
import Linux

/// Link Audio beside a `Link`: channels of ours for the peers of its session, and theirs for us.
///
/// What it does not do: play, record, remember. It starts disabled, and is on the network while it and its `Link` are.
///
///     let link = Link(tempo: 120)
///     let audio = LinkAudio(link, peerName: "Rack")
///     link.isEnabled = true
///     audio.isEnabled = true
///
/// An input is sent through a `SendLane`, whose `audio` is for the audio thread, and an output is played through a
/// `ReceiveLane`:
///
///     let lane = SendLane(channels: 2)
///     let sink = audio.publish(lane, as: "Drums")          // until `sink` is given up
///     let source = audio.subscribe(played, to: channel.id)  // of `channels`
///
/// Both sides name times and beats by a `SessionGrid`, made from a captured state. <doc:FirstChannels> has all of it.
///
/// The invariant: what audio threads do with lanes waits for nobody. Everything else here takes a lock for as long as a
/// datagram is worked on, and nothing is read or sent meanwhile; who turns it off waits until the goodbyes are sent. It never holds
/// Link's: the two have a thread and sockets each, so that streams do not disturb pings.
///
/// Way in: this file and `AudioDiagnostics` are the app's side; `AudioThread` is the loop, `AudioEngine` what it does, `Delivery` what leaves,
/// `AudioMail` what `Link` tells it; the protocol is `LinkAudioSession`, samples are `LinkAudioPath`'s.
public final class LinkAudio: Sendable {
  private let link: Link
  let thread: AudioThread

  /// Disabled, without channels. What is beyond 256 bytes of the name is cut.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public init(_ link: Link, peerName: String) {
    self.link = link
    thread = AudioThread(link, peerName: peerName)
    thread.startIfNeeded()
  }

  /// Says goodbye to the peers. After it no callback is called; one that is under way is waited for, unless it is the one
  /// that let the last reference go.
  deinit { thread.end() }

  /// Whether the user wants Link Audio. Off takes effect at once, goodbyes included.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public var isEnabled: Bool {
    get { thread.ask { $0.isWanted } }
    set {
      thread.change { engine, now in engine.want(newValue, at: now) }
      if !newValue { thread.deliver() }
    }
  }

  /// What the others call us.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public var peerName: String {
    get { thread.ask { $0.peerName } }
    set { thread.change { engine, now in engine.rename(to: newValue, at: now) } }
  }

  /// The channels of others in our session, by the names of peer and channel.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public var channels: [AudioChannel] { thread.ask { $0.channels } }

  /// Called with all channels of others when any of them has changed, on Link Audio's own thread, without a lock; not for what
  /// happened before it was set. It should not take long: audio waits for it.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public func onChannels(_ body: (@Sendable ([AudioChannel]) -> Void)?) {
    thread.callback.withLock { $0 = body }
  }

  /// Makes what an audio thread sends through `lane` a channel, until the sink is given up. Nil: there are too many.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public func publish(_ lane: SendLane, as name: String) -> AudioSink? {
    thread.change { engine, now in engine.publish(lane, as: name, at: now) }
      .map { AudioSink(id: $0, thread: thread) }
  }

  /// Brings a channel to `lane`, until the source is given up. The channel need not be there yet, and may go and come back.
  /// Nil: there are too many.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public func subscribe(_ lane: ReceiveLane, to channel: ChannelID) -> AudioSource? {
    thread.change { engine, now in engine.subscribe(lane, to: channel, at: now) }
      .map { AudioSource(channel: channel, lane: lane, id: $0, thread: thread) }
  }

  /// How it goes, for a person who asks why nothing is heard.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public var diagnostics: AudioDiagnostics {
    let failure = thread.failure
    let urgency = thread.urgency
    let failedSends = thread.failedSendCount
    return thread.ask { AudioDiagnostics($0, failure, urgency, failedSends: failedSends) }
  }
}

/// The name of a channel on the network, for as long as it lives.
public typealias ChannelID = LinkWire.ChannelID

/// A channel of ours: given up, with a goodbye to its listeners, when its last reference goes. It keeps its lane; so must you,
/// as long as the audio thread has the lane's end.
public final class AudioSink: Sendable {
  /// As others ask for it.
  public let id: ChannelID
  private let thread: AudioThread

  init(id: ChannelID, thread: AudioThread) {
    self.id = id
    self.thread = thread
  }

  deinit { thread.change { engine, now in engine.unpublish(id, at: now) } }

  /// What is beyond 256 bytes is cut.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public func rename(to name: String) {
    thread.change { engine, now in engine.rename(id, to: name, at: now) }
  }

  /// How many peers it is sent to now.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public var listenerCount: Int { thread.ask { $0.listenerCount(of: id) } }
}

/// A channel of somebody else that we take: given up when its last reference goes. It keeps its lane; so must you, as long as
/// the audio thread has the lane's end.
public final class AudioSource: Sendable {
  /// What was subscribed to.
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

  /// Whether its channel is there. Whether it is heard say the lane's figures.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public var isConnected: Bool { thread.ask { $0.isConnected(id) } }
}
