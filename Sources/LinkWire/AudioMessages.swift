// SPDX-License-Identifier: GPL-2.0-or-later

/// A channel of audio bears the name that it was given when it was opened, drawn like a node's.
public typealias ChannelID = NodeID

/// The types of messages of an audio socket (facts: link-audio 2).
enum AudioKind {
  case announcement, byes, pong, request, stop, audio

  @_noLocks @_noAllocation
  init?(code: UInt8) {
    switch code {
    case 1: self = .announcement
    case 2: self = .byes
    case 3: self = .pong
    case 4: self = .request
    case 5: self = .stop
    case 6: self = .audio
    default: return nil
    }
  }

  var code: UInt8 {
    @_noLocks @_noAllocation get {
      switch self {
      case .announcement: 1
      case .byes: 2
      case .pong: 3
      case .request: 4
      case .stop: 5
      case .audio: 6
      }
    }
  }
}

/// A whole datagram of an audio socket, read in place: lists, names and samples are views of the bytes it was decoded
/// from, and hold only while those do.
public struct AudioMessage: BitwiseCopyable {
  /// The sender's node id, as it says.
  public var node: NodeID
  /// Seconds.
  public var timeToLive: UInt8
  /// What it says, as the type in its header tells.
  public var body: Body

  /// What peers say on their audio sockets.
  public enum Body: BitwiseCopyable {
    /// Who the peer is, and what it sends to those who ask.
    case announcement(AudioAnnouncement)
    /// These channels are no more.
    case byes(ChannelIDs)
    /// The answer to an announcement that had something to echo.
    case pong(AudioEcho)
    /// Send me this channel, for as long as the message's time to live says.
    case request(ChannelID)
    /// Send me this channel no longer.
    case stop(ChannelID)
    /// Sound of a channel that we asked for.
    case audio(AudioBuffer)
  }

  @_noLocks @_noAllocation
  init(node: NodeID, timeToLive: UInt8, body: Body) {
    self.node = node
    self.timeToLive = timeToLive
    self.body = body
  }
}

/// What an announcement may carry for its receiver to send back: a time, by its key, but only its sender need know which.
public struct AudioEcho: Hashable, Sendable, BitwiseCopyable {
  /// Eight bytes of which only their sender knows the meaning.
  public var rawValue: UInt64

  /// Something to be sent back, for somebody who will know it again.
  @_noLocks @_noAllocation
  public init(rawValue: UInt64) {
    self.rawValue = rawValue
  }
}

/// Who a peer is and what it sends. A long list comes in several of these, each with a part of the channels.
public struct AudioAnnouncement: BitwiseCopyable {
  /// The one that the peer is in, as it says.
  public var session: SessionID
  /// At most `Wire.maximumNameSize` bytes of UTF-8, which the sender may have cut within a character; nothing checks them. Of a longer
  /// name, what fits.
  public var peerName: UnsafeRawBufferPointer
  /// Those in this datagram; the rest of a long list is in others.
  public var channels: ChannelList
  /// To be sent back in a pong; nil: no answer is wanted.
  public var ping: AudioEcho?

  @_noLocks @_noAllocation
  init() {
    session = NodeID(rawValue: 0)
    peerName = UnsafeRawBufferPointer(start: nil, count: 0)
    channels = ChannelList()
    ping = nil
  }
}

/// One channel as its peer announces it.
public struct ListedChannel: BitwiseCopyable {
  /// By which it is asked for: two channels may have one name.
  public var channel: ChannelID
  /// At most `Wire.maximumNameSize` bytes of UTF-8, which the sender may have cut within a character; nothing checks them. Of a longer
  /// name, what fits.
  public var name: UnsafeRawBufferPointer
}

/// The channels in an announcement, each read when it is asked for. The whole list was checked when it was decoded.
public struct ChannelList: Sequence, IteratorProtocol, BitwiseCopyable {
  /// How many are left.
  public private(set) var count: Int
  private var reader: Reader

  @_noLocks @_noAllocation
  init() {
    count = 0
    reader = Reader(UnsafeRawBufferPointer(start: nil, count: 0), from: 0)
  }

  /// Of the vector that fills this entry.
  @_noLocks @_noAllocation
  init(_ entry: Entry, of reader: Reader) throws(DecodingFailure) {
    guard entry.size >= 4 else { throw .brokenList }
    count = Int(reader.uint32(at: entry.start))
    self.reader = reader
    self.reader.position = entry.start &+ 4
    var walk = self.reader
    let end = entry.start &+ entry.size
    // Bounded by the bytes, not by the number that the sender wrote.
    guard count <= (entry.size &- 4) / 12 else { throw .brokenList }
    var index = 0
    while index < count {
      _ = try walk.nextText(before: end)
      guard end &- walk.position >= 8 else { throw .brokenList }
      walk.position &+= 8
      index &+= 1
    }
    guard walk.position == end else { throw .brokenList }
  }

  @_noLocks @_noAllocation
  public mutating func next() -> ListedChannel? {
    guard count > 0 else { return nil }
    count &-= 1
    let name = reader.text()
    let channel = NodeID(rawValue: reader.uint64(at: reader.position))
    reader.position &+= 8
    return ListedChannel(channel: channel, name: name)
  }
}

/// Ids, one after the other.
public struct ChannelIDs: BitwiseCopyable {
  /// At most `Wire.maximumByes`.
  public let count: Int
  private let reader: Reader

  @_noLocks @_noAllocation
  init(_ entry: Entry, of reader: Reader) throws(DecodingFailure) {
    guard entry.size >= 4 else { throw .brokenList }
    count = Int(reader.uint32(at: entry.start))
    guard count <= Wire.maximumByes, entry.size == 4 &+ 8 &* count else { throw .brokenList }
    self.reader = Reader(reader.bytes, from: entry.start &+ 4)
  }

  /// Zero outside.
  public subscript(index: Int) -> ChannelID {
    @_noLocks @_noAllocation get {
      guard index >= 0 && index < count else { return NodeID(rawValue: 0) }
      return NodeID(rawValue: reader.uint64(at: reader.position &+ 8 &* index))
    }
  }
}
