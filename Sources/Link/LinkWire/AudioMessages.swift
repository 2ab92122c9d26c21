// SPDX-License-Identifier: GPL-2.0-or-later

/// A channel's id. It is drawn when the channel is opened, in the same way as a node id.
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

/// A datagram of an audio socket, read in place: lists, names and samples are views of the decoded bytes, and
/// valid only while those bytes exist.
public struct AudioMessage: BitwiseCopyable {
  /// The node id that the sender claims.
  public var node: NodeID
  /// The time to live of the message, in seconds.
  public var timeToLive: UInt8
  /// The content, by the type in the header.
  public var body: Body

  /// The messages of audio sockets.
  public enum Body: BitwiseCopyable {
    /// The peer's name, and the channels that others may request.
    case announcement(AudioAnnouncement)
    /// The peer has closed these channels.
    case byes(ChannelIDs)
    /// The answer to an announcement with a ping.
    case pong(AudioEcho)
    /// Requests this channel for the message's time to live.
    case request(ChannelID)
    /// Ends the request of a channel.
    case stop(ChannelID)
    /// Audio of a channel that we requested.
    case audio(AudioBuffer)
  }

  @_noLocks @_noAllocation
  init(node: NodeID, timeToLive: UInt8, body: Body) {
    self.node = node
    self.timeToLive = timeToLive
    self.body = body
  }
}

/// Data in an announcement for its receiver to send back. The entry's key says that the data is a host time,
/// but only the sender uses it.
public struct AudioEcho: Hashable, Sendable, BitwiseCopyable {
  /// Eight bytes whose meaning only the sender knows.
  public var rawValue: UInt64

  /// Makes data that the receiver will send back.
  @_noLocks @_noAllocation
  public init(rawValue: UInt64) {
    self.rawValue = rawValue
  }
}

/// A peer's name and channels. A long list is split over several announcements.
public struct AudioAnnouncement: BitwiseCopyable {
  /// The session that the peer claims to be in.
  public var session: SessionID
  /// The peer's name in UTF-8, unchecked; at most `Wire.maximumNameSize` bytes, to which longer names are
  /// cut. The cut may lie within a character.
  public var peerName: UnsafeRawBufferPointer
  /// The channels in this datagram; other datagrams may have the rest of a long list.
  public var channels: ChannelList
  /// The data to send back in a pong; nil: the peer wants no pong.
  public var ping: AudioEcho?

  @_noLocks @_noAllocation
  init() {
    session = NodeID(rawValue: 0)
    peerName = UnsafeRawBufferPointer(start: nil, count: 0)
    channels = ChannelList()
    ping = nil
  }
}

/// A channel as its peer announces it.
public struct ListedChannel: BitwiseCopyable {
  /// The channel's id, by which it is requested; names need not be unique.
  public var channel: ChannelID
  /// The channel's name in UTF-8, unchecked; at most `Wire.maximumNameSize` bytes, to which longer names are
  /// cut. The cut may lie within a character.
  public var name: UnsafeRawBufferPointer
}

/// The channels in an announcement, decoded one by one. Decoding the message has checked the whole list.
public struct ChannelList: Sequence, IteratorProtocol, BitwiseCopyable {
  /// The number of channels left.
  public private(set) var count: Int
  private var reader: Reader

  @_noLocks @_noAllocation
  init() {
    count = 0
    reader = Reader(UnsafeRawBufferPointer(start: nil, count: 0), from: 0)
  }

  /// Checks the list that fills this entry.
  @_noLocks @_noAllocation
  init(_ entry: Entry, of reader: Reader) throws(DecodingFailure) {
    guard entry.size >= 4 else { throw .brokenList }
    count = Int(reader.uint32(at: entry.start))
    self.reader = reader
    self.reader.position = entry.start &+ 4
    var walk = self.reader
    let end = entry.start &+ entry.size
    // The number of bytes limits the loop, not the count that the sender wrote.
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

/// A list of channel ids, read in place.
public struct ChannelIDs: BitwiseCopyable {
  /// The number of ids, at most `Wire.maximumByes`.
  public let count: Int
  private let reader: Reader

  @_noLocks @_noAllocation
  init(_ entry: Entry, of reader: Reader) throws(DecodingFailure) {
    guard entry.size >= 4 else { throw .brokenList }
    count = Int(reader.uint32(at: entry.start))
    guard count <= Wire.maximumByes, entry.size == 4 &+ 8 &* count else { throw .brokenList }
    self.reader = Reader(reader.bytes, from: entry.start &+ 4)
  }

  /// The id at `index`; zero if there is none.
  public subscript(index: Int) -> ChannelID {
    @_noLocks @_noAllocation get {
      guard index >= 0 && index < count else { return NodeID(rawValue: 0) }
      return NodeID(rawValue: reader.uint64(at: reader.position &+ 8 &* index))
    }
  }
}
