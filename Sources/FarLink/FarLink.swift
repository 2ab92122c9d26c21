// SPDX-License-Identifier: GPL-2.0-or-later
public import Addresses
public import BeatMath

/// The wire between two rooms, as a machine: who may talk, under which keys, and where the other side is at the moment.
///
/// One `Switchboard` has all lines of a socket. It calls others, or accepts who calls, or both; a line carries Link's datagrams in
/// both directions, each sealed. It lacks on purpose a socket, a clock, chance and the arithmetic of ciphers: datagrams, the time, a generator
/// and a `FarCipher` come in as arguments. What the datagrams of Link say is not its concern.
///
/// The invariant: who has not shown that it has the key, and has it now, changes nothing, and gets at most one datagram, shorter than
/// the one it sent.
///
/// Every handshake makes new keys, from two secrets that nobody keeps. So nothing of an earlier life is worth anything in this one, and who
/// learns the key later cannot read what was recorded. A handshake counts once something sealed with its keys has come: only then does
/// anything change. Anyone who has the key is trusted: it is one of the band.
///
/// **After each call, take `nextOutput` until it is nil.**
///
/// The way in: `receive` in `Receiving.swift`, `Calling.swift` for who calls, `Line.swift` for what is proven, `Datagram.swift` for the
/// bytes, `FarLimits` for what nobody can make it do.
public struct Switchboard: Sendable {
  public enum Output: Sendable {
    case send([UInt8], to: Endpoint)
    /// The other side is proven. After a `closed` of the same line it is another program, or has been away for long.
    case opened(LineID)
    case arrived([UInt8], FarChannel, on: LineID)
    case closed(LineID)
  }

  let key: FarKey
  let cipher: any FarCipher.Type
  /// Of this program's life; by it others know us again when we come from another address.
  let name: UInt64
  let accepts: Bool

  var lines: [Line] = []
  var candidates: [Candidate] = []
  var heardHellos = RecentHellos()
  var strangers: StrangersAllowance
  /// Where the last datagram came from that was made with another key, or with none.
  public internal(set) var refused: (from: Endpoint, at: Micros)?
  public internal(set) var counters = FarCounters()

  /// What came last is authentic, and somebody that called us is where it came from.
  var isCallerHeard = false
  private var lastLine: UInt32 = 0
  private var outputs: [Output] = []
  private var outputHead = 0

  /// `key`: what all rooms have in common. `random` must be one that nobody can guess.
  public init(
    key: FarKey, cipher: any FarCipher.Type, accepts: Bool, using random: inout some RandomNumberGenerator,
    at now: Micros
  ) {
    self.key = key
    self.cipher = cipher
    name = random.next()
    self.accepts = accepts
    strangers = StrangersAllowance(salt: random.next(), at: now)
  }

  /// What is left of its work; nil when it is done.
  public mutating func nextOutput() -> Output? {
    if outputHead < outputs.count {
      outputHead += 1
      return outputs[outputHead - 1]
    }
    outputs.removeAll(keepingCapacity: true)
    outputHead = 0
    return nil
  }

  /// Everything on this line goes to the other side, if it is proven and heard; else it is lost, as on any wire.
  public mutating func send(
    _ payload: UnsafeRawBufferPointer, as channel: FarChannel, on id: LineID, at now: Micros
  ) {
    guard let place = lines.firstIndex(where: { $0.id == id }), channel != .farewell, channel != .keepAlive,
      payload.count <= Datagram.longestPayload
    else {
      counters.unsent += 1
      return
    }
    transmit([channel.rawValue] + payload, on: place, at: now)
  }

  /// Tells all who are there that we leave.
  public mutating func hangUp(at now: Micros) {
    for place in lines.indices { transmit([FarChannel.farewell.rawValue], on: place, at: now) }
    for line in lines where line.isOpen { emit(.closed(line.id)) }
    lines.removeAll()
    candidates.removeAll()
  }

  /// How the lines are, for a person: those we call in their order, then those that called.
  public var views: [LineView] {
    lines.map(\.view).sorted {
      ($0.calls.first ?? .max, $0.id.rawValue) < ($1.calls.first ?? .max, $1.id.rawValue)
    }
  }

  public var nextDeadline: Micros? {
    lines.lazy.flatMap(\.deadlines).min()
  }

  public mutating func meetDeadlines(at now: Micros, using random: inout some RandomNumberGenerator) {
    candidates.removeAll { now - $0.keys.born >= FarLimits.candidateLife }
    for place in lines.indices.reversed() {
      lines[place].letGo(at: now)
      if lines[place].isForgotten(at: now) {
        close(place)
      } else if lines[place].isKeepAliveDue(at: now) {
        keepAlive(place, at: now)
        // Whether or not it was sent: the next one is due later.
        lines[place].keptAlive = now
      }
    }
    for place in lines.indices where lines[place].isCallDue(at: now) { call(place, at: now, using: &random) }
  }

  mutating func emit(_ output: Output) {
    guard outputs.count - outputHead < FarLimits.outputs else {
      counters.unsent += 1
      return
    }
    outputs.append(output)
  }

  mutating func newLine() -> LineID {
    lastLine &+= 1
    return LineID(rawValue: lastLine)
  }

  mutating func transmit(_ plain: [UInt8], on place: Int, at now: Micros) {
    guard let datagram = lines[place].seal(plain, by: cipher, at: now), let peer = lines[place].peer
    else {
      counters.unsent += 1
      return
    }
    emit(.send(datagram, to: peer))
  }

  /// We are there; and what the other side looks like from here, which a router between us may have made of it.
  mutating func keepAlive(_ place: Int, at now: Micros) {
    transmit([FarChannel.keepAlive.rawValue] + (lines[place].peer?.told ?? []), on: place, at: now)
    lines[place].toldPeer = lines[place].peer
  }

  mutating func close(_ place: Int) {
    if lines[place].isOpen { emit(.closed(lines[place].id)) }
    lines.remove(at: place)
  }
}

/// A line, as long as it is there.
public struct LineID: Hashable, Sendable, BitwiseCopyable {
  public let rawValue: UInt32
}

/// What a sealed datagram is for: its first byte.
public enum FarChannel: UInt8, Sendable {
  /// Nothing: the other side and the routers between see that we are there.
  case keepAlive
  case discovery, measurement
  case farewell
}

/// Where a line stands.
public enum LineState: Hashable, Sendable {
  /// Nobody has answered yet who has the key.
  case waiting
  /// What was called is this program.
  case ourselves
  case proven(since: Micros)
  /// Nothing has been heard since then.
  case away(since: Micros)
}

public struct LineView: Hashable, Sendable {
  public var id: LineID
  /// Which of those that we call it is; none: it called.
  public var calls: [Int]
  /// Where the other side was last.
  public var peer: Endpoint?
  public var state: LineState
  /// Of the last thousand datagrams that were sent here, how many parts of one are missing; nil: too few have come.
  public var loss: Double?
  /// Where the other side sees us, as it said itself.
  public var seen: Endpoint?
}
