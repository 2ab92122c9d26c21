// SPDX-License-Identifier: GPL-2.0-or-later
package import Addresses
package import BeatMath
public import LinkWire

// Link Audio as a machine: who is told of our channels, whose channels there are, who is sent what, and from whom audio is
// taken. Like `LinkSession`, and beside it: discovery stays there, this hears of its peers and does the rest.
//
// It lacks, on purpose: sockets, a clock, threads, and the samples. Audio is made and played by `LinkAudioPath`; here only the
// head of a datagram is looked at, to say whose it is.
//
// The invariant: nothing is believed of an endpoint, and no audio goes there, before it has repeated what only it was sent; and
// whatever anybody sends, no table outgrows `AudioLimits` and nobody is sent more than a little for it.
//
// The way in: `handle` and `receive` are all that happens to it. `Receiver` is one way to a peer, `Knowing` who there is,
// `Speaking` what we say and when, `Hearing` what others say, `Channels` what they send, `Source` and `Sink` the two ends of it,
// `AudioLimits` what nobody can make it do. The rules are those of facts: link-audio 3.

/// **After every `handle`, and after a `receive` that returned nil, call `nextOutput` until it says `.sleep`.**
package struct LinkAudioSession: Sendable {
  package enum Input: Sendable {
    /// The time that `.sleep` named has come. Early or late does no harm.
    case deadline
    /// On: then gateways may be opened. Off: says goodbye and forgets gateways and peers; sinks and sources stay.
    case enable(Bool)
    /// A socket is bound to this address of ours, with the interface's scope if it is a link-local one. Only while enabled.
    case gatewayOpened(GatewayID, Address)
    case gatewayClosed(GatewayID)
    /// Under which id and in which session `LinkSession` has us now.
    case identity(node: NodeID, session: SessionID)
    /// What the others call us; what is beyond 256 bytes is cut.
    case name(String)
    /// What a peer said last through this gateway, whatever its session. The same again does no harm, and need not be said.
    case peerSeen(NodeID, session: SessionID, audio: Endpoint?, on: GatewayID)
    case peerGone(NodeID, on: GatewayID)
  }

  package enum Output: Sendable {
    case send(AudioPacket, to: Endpoint, on: GatewayID)
    /// Who is sent the audio of this sink from now on; nobody: it need not be made.
    case routes([AudioRoute], of: ChannelID)
    /// Where audio of this source comes from; nowhere: its channel is not there.
    case senders([AudioRoute], of: SourceID)
    /// All channels of others in our session, by the names of peer and channel.
    case channels([AudioChannel])
    /// At rest until then; nil if only an input can change anything.
    case sleep(until: Micros?)
  }

  package internal(set) var isEnabled = false
  var node: NodeID
  var session: SessionID
  var name = ""
  var gateways: [OpenAudioGateway] = []
  var receivers: [Receiver] = []
  var channels = Channels()
  /// By number; nil is free.
  var sources: [Source?] = []
  var sinks: [Sink] = []
  /// Of all receivers together.
  var messages: Allowance
  var announcements: Allowance

  var dice: SecretDice
  var uptime: Uptime
  /// What was last asked for, in uptime.
  private var promised: Micros?
  package internal(set) var counters = AudioCounters()

  var areWaysDue = false
  var areSendersDue = false
  var areRoutesDue = false
  var listed: [AudioChannel] = []
  /// In uptime: when the list may be told of; nil if nothing changed.
  var listDue: Micros?
  var listTold: Micros?
  private var outputs: [Output] = []
  private var outputHead = 0

  /// Disabled, without channels. Ids of channels and what others have to repeat come from the secret: 128 bits that nobody can
  /// know. The same secret gives the same.
  package init(secret: (UInt64, UInt64), node: NodeID, session: SessionID, at now: Micros) {
    dice = SecretDice(secret)
    self.node = node
    self.session = session
    uptime = Uptime(host: now)
    messages = Allowance(perSecond: AudioLimits.allMessagesPerSecond, at: uptime.now)
    announcements = Allowance(perSecond: AudioLimits.allAnnouncementsPerSecond, at: uptime.now)
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

  /// Whatever came in through a gateway's socket. Audio that a source waits for is returned for its path, and changes nothing
  /// that has to be said or done: then there are no outputs to take. The buffer is a view of the bytes.
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
    if case .audio(let buffer) = datagram.body { return take(buffer, from: route) }
    hear(datagram, from: route, on: place)
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

  /// What every input ends with: what is over is forgotten, what is due is said, and changes are told.
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
    if areRoutesDue {
      areRoutesDue = false
      refreshRoutes()
    }
    tellChannels()
  }

  /// In uptime. Every deadline there is, is one of these.
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

/// Through which socket of ours to, or from, which of others'.
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

/// A channel that somebody else in our session sends.
public struct AudioChannel: Hashable, Sendable {
  /// By which it is subscribed to; another one when its program opens it again.
  public var id: ChannelID
  /// As its program calls it; two may have one name.
  public var name: String
  /// Whose it is, by Link's id.
  public var peer: NodeID
  /// As its peer calls itself.
  public var peerName: String

  package init(id: ChannelID, name: String, peer: NodeID, peerName: String) {
    self.id = id
    self.name = name
    self.peer = peer
    self.peerName = peerName
  }
}

/// A channel that we take, as a small number: free ones are used again.
package struct SourceID: Hashable, Sendable, BitwiseCopyable {
  package var rawValue: Int

  package init(rawValue: Int) {
    self.rawValue = rawValue
  }
}
