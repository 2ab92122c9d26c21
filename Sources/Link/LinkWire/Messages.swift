// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath

/// The state of a peer and its session, as in every Alive and Response.
///
/// A missing entry is not an error and leaves zeros here. A state without a timeline has the tempo 0, which
/// no peer may adopt.
public struct PeerState: Hashable, Sendable, BitwiseCopyable {
  /// The peer's id, which changes with each reset.
  public var node: NodeID
  /// The peer's session. If the peer founded it, this is the peer's own id.
  public var session: SessionID
  /// The session's timeline, in ghost time.
  public var timeline: Timeline
  /// The last start or stop in the session, in the session's ghost time; `.unset` if there was none.
  public var startStop: SessionStartStop
  /// The peer's endpoint that answers pings; an IPv6 address has no scope here.
  public var measurement: Endpoint?
  /// The origin of the peer's clock. Only tactus sends it; peers of Ableton's library skip it.
  public var clock: ClockOrigin?
  /// The peer's audio socket while the peer takes part in Link Audio; an IPv6 address has no scope here.
  public var audio: Endpoint?
  /// The session's song line, if the peer shares it. Only tactus sends it; peers of Ableton's library skip
  /// it.
  package var song: SessionSong?

  /// Makes a state. Values that are nil are not sent.
  @_noLocks @_noAllocation
  public init(
    node: NodeID, session: SessionID, timeline: Timeline, startStop: SessionStartStop,
    measurement: Endpoint?, clock: ClockOrigin? = nil, audio: Endpoint? = nil
  ) {
    self.node = node
    self.session = session
    self.timeline = timeline
    self.startStop = startStop
    self.measurement = measurement
    self.clock = clock
    self.audio = audio
  }
}

/// The origin of a peer's clock: the peer whose clock gives the session's time, and the number of
/// measurements between the two peers.
public struct ClockOrigin: Hashable, Sendable, BitwiseCopyable {
  /// The peer from whose clock the time comes.
  public var root: NodeID
  /// The number of measurements between the root and this peer, each with an error; 0: the peer's own clock.
  public var steps: UInt8
  /// The number of jumps of the clock: a peer that measured the clock before a jump must measure again. 32
  /// bits are enough that the number never repeats.
  public var jumps: UInt32
  /// Whether the root is a peer of Ableton's library, which announces no clock, and seems to use the
  /// founder's.
  public var isInferred: Bool

  /// Makes the origin of a clock that comes from `root` over `steps` measurements.
  @_noLocks @_noAllocation
  public init(root: NodeID, steps: UInt8, jumps: UInt32 = 0, isInferred: Bool = false) {
    self.root = root
    self.steps = steps
    self.jumps = jumps
    self.isInferred = isInferred
  }
}

// An Alive is answered before it is understood (facts: link 1 rule 7, 3.3).

/// The first twenty bytes of a discovery datagram. It is decoded on its own, because an Alive is answered
/// even if the rest of the datagram is broken.
public struct DiscoveryHeader: Hashable, Sendable, BitwiseCopyable {
  /// The three kinds of discovery datagrams.
  public enum Kind: Hashable, Sendable, BitwiseCopyable {
    /// A peer is present. This datagram goes to all peers, and all of them answer.
    case alive
    /// The answer to an Alive. This datagram goes only to the sender of the Alive.
    case response
    /// A peer leaves. This datagram goes to all peers.
    case byeBye

    @_noLocks @_noAllocation
    init?(code: UInt8) {
      switch code {
      case 1: self = .alive
      case 2: self = .response
      case 3: self = .byeBye
      default: return nil
      }
    }

    var code: UInt8 {
      @_noLocks @_noAllocation get {
        switch self {
        case .alive: 1
        case .response: 2
        case .byeBye: 3
        }
      }
    }
  }

  /// The kind, which decides whether a state follows and an answer is due.
  public var kind: Kind
  /// The time to live of the message, in seconds.
  public var timeToLive: UInt8
  /// The sender's id as the sender claims; there is no proof.
  public var node: NodeID

  @_noLocks @_noAllocation
  init(kind: Kind, timeToLive: UInt8, node: NodeID) {
    self.kind = kind
    self.timeToLive = timeToLive
    self.node = node
  }
}

/// A whole discovery datagram.
public enum DiscoveryMessage: Hashable, Sendable, BitwiseCopyable {
  /// A peer's state, sent to all; valid for `ttl` seconds.
  case alive(PeerState, ttl: UInt8)
  /// A peer's state in answer to an Alive; valid for `ttl` seconds.
  case response(PeerState, ttl: UInt8)
  /// The peer with this node id has left.
  case byeBye(NodeID)
}

/// A whole measurement datagram.
public enum MeasurementMessage: Sendable, BitwiseCopyable {
  /// Asks for the session's time.
  case ping(EchoPayload)
  /// Gives the session's time to the peer that asked.
  case pong(Pong)
}

/// The payload of a ping. It is not decoded: the answer repeats it byte for byte.
public struct EchoPayload: Sendable, BitwiseCopyable {
  var storage: InlineArray<32, UInt8>
  /// The number of bytes, at most `Wire.maximumEchoSize`.
  public private(set) var count: Int

  /// Copies at most the first `Wire.maximumEchoSize` bytes.
  @_noLocks @_noAllocation
  init(copying bytes: UnsafeRawBufferPointer, from start: Int) {
    storage = InlineArray(repeating: 0)
    count = 0
    var index = start
    while index < bytes.count && count < 32 {
      storage[count] = bytes[index]
      count &+= 1
      index &+= 1
    }
  }

  /// The byte at `index`; 0 if there is none.
  @_noLocks @_noAllocation
  public func byte(at index: Int) -> UInt8 {
    index >= 0 && index < count ? storage[index] : 0
  }
}

/// The answer to a ping. A time of 0 means that the answer lacks this time.
public struct Pong: Hashable, Sendable, BitwiseCopyable {
  /// The session that the answering peer is in.
  public var session: SessionID
  /// The answering peer's ghost time when it answered.
  public var ghost: Micros
  /// Our host time, as our ping carried it.
  public var host: Micros
  /// The ghost time of the pong before this one, as our ping carried it.
  public var previousGhost: Micros
  /// The answering peer's own host time when it answered; only relays send it, to each other.
  public var relay: Micros

  /// All times are in microseconds. Give `relay` only to another relay.
  @_noLocks @_noAllocation
  public init(
    session: SessionID, ghost: Micros, host: Micros, previousGhost: Micros, relay: Micros = .zero
  ) {
    self.session = session
    self.ghost = ghost
    self.host = host
    self.previousGhost = previousGhost
    self.relay = relay
  }
}
