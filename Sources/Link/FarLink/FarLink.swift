// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkAddresses
public import LinkBeatMath

/// The encrypted connections between rooms (networks joined over the Internet), as a state machine. It knows
/// the lines (connections, one to each other program), their keys, and the present endpoint of the other side
/// of each line.
///
/// One `Switchboard` has all lines of a socket, each of which leads to one other program. It calls other
/// programs, accepts calls, or both. A line carries Link's datagrams in both directions, each sealed, and
/// does not look into them. Deliberately absent: a socket, a clock, randomness and the arithmetic of ciphers.
/// Datagrams, the time, a generator and a `FarCipher` come in as arguments.
///
/// The invariant: as long as a sender has not proven that it has the key and is not replaying old datagrams,
/// its datagrams change nothing, and it gets at most one answer, which is shorter than its own datagram.
///
/// The handshake is Noise NNpsk0 (`Noise.swift`). It makes new keys from two secrets that are not kept. So
/// recorded datagrams are not valid later, and an attacker who learns the key later cannot read what was
/// recorded. A handshake changes something only when a datagram sealed with its keys has come. Every program
/// that has the key is trusted: it belongs to the band.
///
/// **After each call, take `nextOutput` until it is nil.**
///
/// Start reading at `receive` in `Receiving.swift`. `Calling.swift` is the caller's side, `Line.swift` a
/// line, `Datagram.swift` the bytes, `FarLimits` the limits.
public struct Switchboard: Sendable {
  public enum Output: Sendable {
    case send([UInt8], to: Endpoint)
    /// The other side has proven that it has the key. If this connection was `closed` before, the other side
    /// is another program now, or was away for a long time.
    case opened(LineID)
    case arrived([UInt8], FarChannel, on: LineID)
    case closed(LineID)
  }

  let cipher: any FarCipher.Type
  /// The state from which every handshake starts; it contains the key.
  let handshakeStart: SymmetricState
  /// A random name of this run of the program. Other sides recognise us by it when our address changes.
  let name: UInt64
  let accepts: Bool

  var lines: [Line] = []
  var candidates: [Candidate] = []
  var heardHellos = RecentHellos()
  /// The limits of hellos in a second: `knocks` for hellos that we decrypt, `entries` for hellos that we
  /// answer.
  var knocks: InputGate<Caller>
  var entries: InputGate<Caller>
  let salt: UInt64
  /// The source of the last datagram made with another key, or without a key.
  public internal(set) var refused: (from: Endpoint, at: Micros)?
  public internal(set) var counters = FarCounters()

  /// Whether the last datagram was authentic and shows the present endpoint of a caller.
  var isCallerHeard = false
  private var lastLine: UInt32 = 0
  private var outputs: [Output] = []
  private var outputHead = 0

  /// `key`: the key that all rooms share. `random` must be unpredictable.
  public init(
    key: FarKey, cipher: any FarCipher.Type, accepts: Bool, using random: inout some RandomNumberGenerator,
    at now: Micros
  ) {
    self.cipher = cipher
    handshakeStart = SymmetricState(prologue: Datagram.prologue, psk: key, cipher: cipher)
    name = random.next()
    self.accepts = accepts
    salt = random.next()
    knocks = InputGate(perSecond: FarLimits.knocks, at: now)
    entries = InputGate(perSecond: FarLimits.entries, at: now)
  }

  /// The next output; nil if there is none left.
  public mutating func nextOutput() -> Output? {
    if outputHead < outputs.count {
      outputHead += 1
      return outputs[outputHead - 1]
    }
    outputs.removeAll(keepingCapacity: true)
    outputHead = 0
    return nil
  }

  /// Sends a payload if the other side has proven that it has the key, and was heard lately. Otherwise the
  /// payload is lost, as on any network.
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

  /// Says goodbye to all connected programs, and closes the connections.
  public mutating func hangUp(at now: Micros) {
    for place in lines.indices { transmit([FarChannel.farewell.rawValue], on: place, at: now) }
    for line in lines where line.isOpen { emit(.closed(line.id)) }
    lines.removeAll()
    candidates.removeAll()
  }

  /// The state of each connection, for the user: our calls in the order of the settings, then the callers.
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
        // Even if this keep-alive could not be sent, the next keep-alive is due a whole interval later.
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

  /// Sends a keep-alive with the other side's endpoint as we see it; a router on the way may have changed
  /// that endpoint.
  mutating func keepAlive(_ place: Int, at now: Micros) {
    transmit([FarChannel.keepAlive.rawValue] + (lines[place].peer?.told ?? []), on: place, at: now)
    lines[place].toldPeer = lines[place].peer
  }

  mutating func close(_ place: Int) {
    if lines[place].isOpen { emit(.closed(lines[place].id)) }
    lines.remove(at: place)
  }
}

/// Identifies a connection to another program as long as the connection exists.
public struct LineID: Hashable, Sendable, BitwiseCopyable {
  public let rawValue: UInt32
}

/// The purpose of a sealed datagram: its first byte.
public enum FarChannel: UInt8, Sendable {
  /// A datagram that shows the other side, and the routers between us, that we are there.
  case keepAlive
  case discovery, measurement
  case farewell
}

/// The state of a connection to another program.
public enum LineState: Hashable, Sendable {
  /// No side with the key has answered yet.
  case waiting
  /// The called address is this program's own.
  case ourselves
  case proven(since: Micros)
  /// The other side has not been heard since this time.
  case away(since: Micros)
}

public struct LineView: Hashable, Sendable {
  public var id: LineID
  /// The numbers of our calls that lead to the other side; empty: that side called us.
  public var calls: [Int]
  /// The last endpoint of the other side.
  public var peer: Endpoint?
  public var state: LineState
  /// The share of the last thousand datagrams to us that did not arrive, 0 to 1; nil if too few datagrams
  /// have come.
  public var loss: Double?
  /// Our endpoint, as the other side reports it.
  public var seen: Endpoint?
}
