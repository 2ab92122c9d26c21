// SPDX-License-Identifier: GPL-2.0-or-later
internal import Link
package import LinkAudioLanes
package import LinkAudioSession
package import LinkWire
import Synchronization

// Channels of peers.
extension LinkAudio {
  /// A channel of a peer in our session.
  public struct Channel: Hashable, Sendable, Identifiable, CustomStringConvertible {
    /// The identity of a channel on the network, as long as the channel lives.
    public struct ID: Hashable, Sendable, CustomStringConvertible {
      package let node: LinkWire.ChannelID

      package init(_ node: LinkWire.ChannelID) { self.node = node }

      /// The identity as text, in hexadecimal digits.
      ///
      /// Thread-safe: yes. Real-time-safe: no.
      public var description: String { node.description }
    }

    /// The identity with which you subscribe to the channel.
    public let id: ID
    /// The channel's name.
    public let name: String
    /// The name of the channel's peer; empty until the peer has announced a name.
    public let peerName: String

    init(_ channel: AudioChannel) {
      id = ID(channel.id)
      name = channel.name
      peerName = channel.peerName
    }

    /// The names of the peer and the channel, like "Rack/Guitar".
    public var description: String { "\(peerName)/\(name)" }
  }

  /// The channels of peers in our session, sorted by the names of peer and channel.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public var channels: [Channel] { thread.ask { $0.channels }.map { Channel($0) } }

  /// A stream of lists of the peers' channels: first the present list, then a whole list after each change.
  /// Of lists that were not read yet, the stream keeps only the newest.
  ///
  /// Each call returns a new stream. A stream does not keep its `LinkAudio` alive, and ends with that
  /// `LinkAudio`.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public func channelUpdates() -> AsyncStream<[Channel]> {
    thread.ask { engine in thread.channels.stream(from: engine.channels) { $0.map { Channel($0) } } }
  }

  /// Sets the callback for changes of the peers' channels; nil removes it. Each call passes the list of all
  /// channels. Link Audio's own thread makes the calls, without a lock, and only for changes after the
  /// callback was set. The callback should be short, because audio waits for it.
  ///
  /// When this returns, no call of the former callback runs, unless the callback itself makes this call. So
  /// do not hold a lock for which the former callback waits.
  ///
  /// Thread-safe: yes. Real-time-safe: no, it may wait.
  public func onChannels(_ body: (@Sendable ([Channel]) -> Void)?) {
    guard let body else { return onAudioChannels(nil) }
    onAudioChannels { channels in body(channels.map { Channel($0) }) }
  }

  /// Sets the callback like `onChannels(_:)`, but passes the channels as the protocol's values.
  package func onAudioChannels(_ body: (@Sendable ([AudioChannel]) -> Void)?) {
    thread.channels.setCallback(body)
  }

  /// Receives a channel into a lane until the source is released. You may subscribe before a peer announces
  /// the channel. The channel may also go and come back.
  ///
  /// - Parameters:
  ///   - lane: The lane whose end plays the channel. Only one source at a time may use a lane.
  ///   - channel: The identity of a peer's channel.
  /// - Throws: ``RequestError/laneInUse``, ``RequestError/tooManySources(limit:)``,
  ///   ``RequestError/tooManyChannels(limit:)`` or ``RequestError/ownChannel``.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public func subscribe(_ lane: ReceiveLane, to channel: Channel.ID) throws(RequestError) -> Source {
    guard !lane.isUsed.exchange(true, ordering: .acquiringAndReleasing) else { throw .laneInUse }
    do throws(RequestError) {
      return try open(lane.lane, to: channel.node, releasing: lane)
    } catch {
      lane.isUsed.store(false, ordering: .releasing)
      throw error
    }
  }

  /// Receives a channel into `lane` until the source is released. Returns nil if the subscription is refused.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  package func subscribe(_ lane: LinkAudioLanes.ReceiveLane, to channel: LinkWire.ChannelID) -> Source? {
    try? open(lane, to: channel, releasing: nil)
  }

  private func open(
    _ lane: LinkAudioLanes.ReceiveLane, to channel: LinkWire.ChannelID, releasing wrapper: ReceiveLane?
  ) throws(RequestError) -> Source {
    let id = try thread.change { engine, now in engine.subscribe(lane, to: channel, at: now) }.get()
    return Source(node: channel, lane: lane, wrapper: wrapper, id: id, thread: thread)
  }

  /// A subscription to a peer's channel. The subscription ends when the last reference to this object is
  /// released. The object keeps its lane alive.
  public final class Source: Sendable {
    package let node: LinkWire.ChannelID
    private let lane: LinkAudioLanes.ReceiveLane
    private let wrapper: ReceiveLane?
    private let id: SourceID
    private let thread: AudioThread

    init(
      node: LinkWire.ChannelID, lane: LinkAudioLanes.ReceiveLane, wrapper: ReceiveLane?, id: SourceID,
      thread: AudioThread
    ) {
      self.node = node
      self.lane = lane
      self.wrapper = wrapper
      self.id = id
      self.thread = thread
    }

    deinit {
      thread.change { engine, now in engine.release(id, lane, at: now) }
      wrapper?.isUsed.store(false, ordering: .releasing)
    }

    /// The identity of the subscribed channel.
    ///
    /// Thread-safe: yes. Real-time-safe: no, but it never waits.
    public var channel: Channel.ID { Channel.ID(node) }

    /// Whether a peer announces the channel at present. The lane's figures say whether the channel is played.
    ///
    /// Thread-safe: yes. Real-time-safe: no.
    public var isConnected: Bool { thread.ask { $0.isConnected(id) } }
  }
}
