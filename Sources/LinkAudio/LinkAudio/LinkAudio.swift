// SPDX-License-Identifier: GPL-2.0-or-later
@_exported public import Link
package import LinkAudioLanes
internal import LinkAudioSession
internal import LinkSystem
package import LinkWire
import Synchronization

// Link Audio never holds Link's lock. Link and Link Audio each have their own thread and sockets, so that
// streams of audio do not disturb Link's pings.
//
// Start reading here and at `LinkAudio.Diagnostics` for the app's side. `AudioThread` is the loop,
// `AudioEngine` its work, `Delivery` sends, `AudioMail` brings changes of the network from `Link`. The
// protocol is in `LinkAudioSession`; `LinkAudioPath` handles the samples.

/// Link Audio beside a `Link`: sends our channels to the peers of its session, and receives theirs.
///
/// A `LinkAudio` does not play, record or remember settings. It starts disabled, and is on the network while
/// both it and its `Link` are enabled.
///
///     let link = Link()
///     let audio = try LinkAudio(link, peerName: "Rack")
///     link.isEnabled = true
///     audio.isEnabled = true
///
/// An input is sent through a ``SendLane``, and an output is played through a ``ReceiveLane``. Each has an
/// end for the audio thread:
///
///     let lane = LinkAudio.SendLane(.stereo)
///     let sink = try audio.publish(lane, as: "Drums")          // until `sink` is released
///     let source = try audio.subscribe(played, to: channel.id)  // of `channels`
///
/// <doc:FirstChannels> shows a whole program.
///
/// Audio threads never wait for a lane. All other calls take a lock. No thread holds this lock for longer
/// than the work on one datagram takes, or while it reads or sends. A call that disables Link Audio waits
/// until the goodbyes are sent.
public final class LinkAudio: Sendable {
  private let link: Link
  let thread: AudioThread

  /// Creates a disabled instance without channels.
  ///
  /// - Parameters:
  ///   - link: The peer whose session the audio belongs to.
  ///   - peerName: The name of this program, as peers show it. It is cut after 256 bytes.
  ///
  /// - Throws: ``RequestError/linkInUse`` while the `Link` has another `LinkAudio`.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public init(_ link: Link, peerName: String) throws(RequestError) {
    guard link.reserveAudio() else { throw .linkInUse }
    self.link = link
    thread = AudioThread(link, peerName: peerName)
    thread.startIfNeeded()
  }

  /// Says goodbye to the peers. No callback is called afterwards. The release waits for a running callback,
  /// unless that callback has released the last reference.
  deinit {
    thread.end()
    link.releaseAudio()
  }

  /// Whether the user wants Link Audio. When a call that sets false returns, the goodbyes are sent.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public var isEnabled: Bool {
    get { thread.ask { $0.isWanted } }
    set {
      thread.change { engine, now in engine.want(newValue, at: now) }
      if !newValue { thread.deliver() }
    }
  }

  /// The name of this program, as peers show it.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public var peerName: String {
    get { thread.ask { $0.peerName } }
    set { thread.change { engine, now in engine.rename(to: newValue, at: now) } }
  }

  /// The state of Link Audio, for a user who hears nothing.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public var diagnostics: Diagnostics {
    let failure = thread.failure
    let scheduling = thread.scheduling
    let failedSends = thread.failedSendCount
    return thread.ask { Diagnostics($0, failure, scheduling, failedSends: failedSends) }
  }
}

// Our own channels.
extension LinkAudio {
  /// The reason why a request is refused.
  public enum RequestError: Error, Hashable, Sendable, CustomStringConvertible {
    /// This program already has as many channels of its own as it may have: 128.
    case tooManySinks(limit: Int)
    /// This program already has as many subscriptions as it may have: 256.
    case tooManySources(limit: Int)
    /// This program already receives as many different channels as it may: 128.
    case tooManyChannels(limit: Int)
    /// The channel is our own. A peer does not send audio to itself.
    case ownChannel
    /// Another sink or source uses the lane.
    case laneInUse
    /// The `Link` already has another `LinkAudio`.
    case linkInUse

    /// The reason in words.
    public var description: String {
      switch self {
      case .tooManySinks(let limit): "there are \(limit) channels of ours already"
      case .tooManySources(let limit): "there are \(limit) subscriptions already"
      case .tooManyChannels(let limit): "there are subscriptions to \(limit) channels already"
      case .ownChannel: "the channel is one of ours"
      case .laneInUse: "the lane belongs to another channel"
      case .linkInUse: "the Link has a LinkAudio already"
      }
    }
  }

  /// Publishes the audio of a lane as a channel until the sink is released.
  ///
  /// - Parameters:
  ///   - lane: The lane whose audio is sent. Only one sink at a time may use a lane.
  ///   - name: The channel's name, as peers show it. It is cut after 256 bytes.
  /// - Throws: ``RequestError/laneInUse`` or ``RequestError/tooManySinks(limit:)``.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public func publish(_ lane: SendLane, as name: String) throws(RequestError) -> Sink {
    guard !lane.isUsed.exchange(true, ordering: .acquiringAndReleasing) else { throw .laneInUse }
    guard let sink = publish(lane.lane, as: name, releasing: lane) else {
      lane.isUsed.store(false, ordering: .releasing)
      throw .tooManySinks(limit: AudioLimits.sinks)
    }
    return sink
  }

  /// Publishes the audio of `lane` as a channel until the sink is released. Returns nil if we have too many
  /// channels.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  package func publish(
    _ lane: LinkAudioLanes.SendLane, as name: String, releasing wrapper: SendLane? = nil
  ) -> Sink? {
    thread.change { engine, now in engine.publish(lane, as: name, at: now) }
      .map { Sink(node: $0, lane: wrapper, thread: thread) }
  }

  /// A channel of ours. When the last reference to this object is released, the channel closes with a goodbye
  /// to its subscribers. The object keeps its lane alive.
  public final class Sink: Sendable {
    package let node: LinkWire.ChannelID
    private let lane: SendLane?
    private let thread: AudioThread

    init(node: LinkWire.ChannelID, lane: SendLane?, thread: AudioThread) {
      self.node = node
      self.lane = lane
      self.thread = thread
    }

    deinit {
      thread.change { engine, now in engine.unpublish(node, at: now) }
      lane?.isUsed.store(false, ordering: .releasing)
    }

    /// The id by which peers subscribe.
    ///
    /// Thread-safe: yes. Real-time-safe: no, but it never waits.
    public var id: Channel.ID { Channel.ID(node) }

    /// Renames the channel. The name is cut after 256 bytes.
    ///
    /// Thread-safe: yes. Real-time-safe: no.
    public func rename(to name: String) {
      thread.change { engine, now in engine.rename(node, to: name, at: now) }
    }

    /// The number of peers to which the channel is sent now.
    ///
    /// Thread-safe: yes. Real-time-safe: no.
    public var listenerCount: Int { thread.ask { $0.listenerCount(of: node) } }
  }
}
