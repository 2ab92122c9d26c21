// SPDX-License-Identifier: GPL-2.0-or-later
package import LinkAddresses
package import LinkBeatMath
public import LinkWire

// The protocol of Link Audio as a state machine. It announces our channels, lists the channels of peers,
// decides which peers get audio of each of our channels, and which audio to accept. It works beside
// `LinkSession`, which discovers the peers and passes them on as inputs.
//
// Deliberately absent: sockets, a clock, threads, and the samples. `LinkAudioPath` makes and plays audio;
// this module reads only the head of an audio datagram, to find its source.
//
// The invariant: before an endpoint has echoed a secret that only it was sent, we believe nothing that this
// endpoint sends, and send no audio to it. Whatever the network sends, no table outgrows `AudioLimits`, and
// our replies stay small.
//
// Start reading at `handle` and `receive`, which take all inputs. `Receiver` is one route to a peer.
// `Knowing.swift` keeps gateways and peers, `Speaking.swift` sends messages, `Incoming.swift` handles the
// messages of peers, `Channels` stores the peers' channels, `Source` and `Sink` are the two ends of a
// channel, `AudioLimits` the limits. The rules come from facts: link-audio 3.

/// **After every `handle`, and after a `receive` that returned nil, call `nextOutput` until it returns
/// `.sleep`.**
///
/// More than 20 properties: the files of this module share the state of the protocol.
package struct LinkAudioSession: Sendable {
  package enum Input: Sendable {
    /// The time that the last `.sleep` gave has come. An early or late call does no harm.
    case deadline
    /// True: gateways may be opened. False: we say goodbye and forget the gateways and peers; the sinks and
    /// sources stay.
    case enable(Bool)
    /// A socket is bound to this local address; a link-local address needs the interface's scope. This input
    /// is valid only after `enable(true)`.
    case gatewayOpened(GatewayID, Address)
    case gatewayClosed(GatewayID)
    /// Our present id and session, as in `LinkSession`.
    case identity(node: NodeID, session: SessionID)
    /// The name of this program, as peers show it. It is cut after 256 bytes.
    case name(String)
    /// A peer's latest state as seen through this gateway; the peer may be in any session. The same state may
    /// be passed again, but need not be.
    case peerSeen(NodeID, session: SessionID, audio: Endpoint?, on: GatewayID)
    case peerGone(NodeID, on: GatewayID)
  }

  package enum Output: Sendable {
    case send(AudioPacket, to: Endpoint, on: GatewayID)
    /// The routes to which audio of this sink is sent from now on; empty: no audio is needed.
    case routes([AudioRoute], of: ChannelID)
    /// The routes from which audio of this source may come; empty: no peer announces the channel.
    case senders([AudioRoute], of: SourceID)
    /// All channels of peers in our session, sorted by the names of peer and channel.
    case channels([AudioChannel])
    /// There is nothing to do until this time; nil: until the next input.
    case sleep(until: Micros?)
  }

  package internal(set) var isEnabled = false
  var node: NodeID
  var session: SessionID
  var name = ""
  var gateways: [OpenAudioGateway] = []
  var receivers: [Receiver] = []
  var channels = Channels()
  /// The sources, indexed by `SourceID`; nil: this index is free.
  var sources: [Source?] = []
  var sinks: [Sink] = []
  /// The uptime at which the last of our channels was closed.
  var sinksRemoved: Micros?
  /// A channel that never sends audio (`Placeholder.swift`); nil until a peer needs it.
  var placeholder: Sink?
  /// The limits of messages and of announcements, shared by all receivers.
  var messages: TokenBucket
  var announcements: TokenBucket

  var dice: SecretDice
  var uptime: Uptime
  /// The deadline of the last `.sleep`, in uptime.
  private var promised: Micros?
  package internal(set) var counters = AudioCounters()

  var areWaysDue = false
  var areSendersDue = false
  var areRoutesDue = false
  var listed: [AudioChannel] = []
  /// The uptime at which the list of channels may be emitted; nil if no channel has changed.
  var listDue: Micros?
  var listTold: Micros?
  private var outputs: [Output] = []
  private var outputHead = 0

  /// Makes a session that is disabled and has no channels. Channel ids and ping echoes are drawn from
  /// `secret`, 128 bits that cannot be guessed. The same secret gives the same ids and echoes.
  package init(secret: (UInt64, UInt64), node: NodeID, session: SessionID, at now: Micros) {
    dice = SecretDice(secret)
    self.node = node
    self.session = session
    uptime = Uptime(host: now)
    messages = TokenBucket(perSecond: AudioLimits.allMessagesPerSecond, at: uptime.now)
    announcements = TokenBucket(perSecond: AudioLimits.allAnnouncementsPerSecond, at: uptime.now)
  }

  package mutating func handle(_ input: Input, at now: Micros) {
    advance(to: now)
    switch input {
    case .deadline: break
    case .enable(let isOn): enable(isOn)
    case .gatewayOpened(let id, let address): open(id, at: address)
    case .gatewayClosed(let id): close(id)
    case .identity(let node, let session): become(node, in: session)
    case .name(let name): rename(to: name)
    case .peerSeen(let peer, let session, let audio, let gateway):
      see(peer, in: session, at: audio, on: gateway)
    case .peerGone(let peer, let gateway): lose(peer, on: gateway)
    }
    settle()
  }

  /// Takes a datagram of a gateway's socket. If the datagram is audio of a source, returns it for the
  /// source's lane, and makes no outputs. The buffer is a view of `bytes`.
  package mutating func receive(
    _ bytes: UnsafeRawBufferPointer, from source: Endpoint, on gateway: GatewayID, at now: Micros
  ) -> (source: SourceID, buffer: AudioBuffer)? {
    advance(to: now)
    counters.received &+= 1
    guard isEnabled, let place = index(of: gateway), source.port != 0 else {
      counters.closedGateway &+= 1
      return nil
    }
    let source = Endpoint(source.address.scoped(gateways[place].address.scope), port: source.port)
    let datagram: AudioMessage
    do throws(DecodingFailure) {
      datagram = try decodeAudio(bytes)
    } catch {
      counters.malformed &+= 1
      return nil
    }
    guard datagram.node != node else {
      counters.own &+= 1
      return nil
    }
    let route = AudioRoute(gateway, source)
    if case .audio(let buffer) = datagram.body { return accept(buffer, from: route) }
    receive(datagram, from: route, on: place)
    settle()
    return nil
  }

  package mutating func nextOutput() -> Output {
    if outputHead < outputs.count {
      outputHead += 1
      return outputs[outputHead - 1]
    }
    outputs.removeAll(keepingCapacity: true)
    outputHead = 0
    promised = nextDeadline
    return .sleep(until: promised.map { uptime.host(of: $0) })
  }

  mutating func emit(_ output: Output) {
    guard outputs.count - outputHead < AudioLimits.outputs else {
      counters.outputsDropped &+= 1
      return
    }
    outputs.append(output)
  }

  mutating func advance(to now: Micros) {
    if uptime.advance(toHost: now, deadline: promised) { counters.clockSteps &+= 1 }
  }

  /// Completes every input: drops expired entries, sends what is due, and emits changes.
  mutating func settle() {
    guard isEnabled else { return tell() }
    forgetWhatIsOver()
    if areWaysDue {
      areWaysDue = false
      chooseWays()
    }
    announceWhatIsDue()
    tell()
    request()
  }

  private mutating func tell() {
    if areSendersDue {
      areSendersDue = false
      refreshSenders()
    }
    withdrawPlaceholders()
    if areRoutesDue {
      areRoutesDue = false
      refreshRoutes()
    }
    tellChannels()
  }

  /// The earliest of all deadlines, in uptime.
  private var nextDeadline: Micros? {
    var earliest = listDue
    guard isEnabled else { return earliest }
    func consider(_ deadline: Micros?) {
      guard let deadline else { return }
      if earliest.map({ deadline < $0 }) ?? true { earliest = deadline }
    }
    for receiver in receivers { consider(receiver.deadline(in: session)) }
    consider(channels.nextExpiry)
    for case .some(let source) in sources { consider(source.deadline) }
    for sink in sinks { consider(sink.nextExpiry) }
    return earliest
  }
}

/// A way between one of our gateways and an endpoint of a peer, in both directions.
package struct AudioRoute: Hashable, Comparable, Sendable, BitwiseCopyable {
  package var gateway: GatewayID
  package var endpoint: Endpoint

  package init(_ gateway: GatewayID, _ endpoint: Endpoint) {
    self.gateway = gateway
    self.endpoint = endpoint
  }

  package static func < (left: AudioRoute, right: AudioRoute) -> Bool {
    (left.gateway.rawValue, left.endpoint) < (right.gateway.rawValue, right.endpoint)
  }
}

/// A channel that another peer in our session sends.
public struct AudioChannel: Hashable, Sendable {
  /// The id for a subscription. A program that closes and reopens the channel gives it a new id.
  public var id: ChannelID
  /// The channel's name. Two channels may have the same name.
  public var name: String
  /// The id in Link of the channel's peer.
  public var peer: NodeID
  /// The name that the channel's peer announces.
  public var peerName: String

  package init(id: ChannelID, name: String, peer: NodeID, peerName: String) {
    self.id = id
    self.name = name
    self.peer = peer
    self.peerName = peerName
  }
}

/// A channel that we receive, as a small number. Numbers of released sources are used again.
package struct SourceID: Hashable, Sendable, BitwiseCopyable {
  package var rawValue: Int

  package init(rawValue: Int) {
    self.rawValue = rawValue
  }
}
