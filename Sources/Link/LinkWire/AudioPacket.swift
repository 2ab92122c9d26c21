// SPDX-License-Identifier: GPL-2.0-or-later

/// A datagram of an audio socket ready to be sent, without heap memory. Audio itself is encoded into the
/// sender's memory, by `encodeAudioBuffer`. `Packet` and this type are not one generic type, because the
/// compiler cannot prove that generic calls are free of locks and allocations.
public struct AudioPacket: Sendable, BitwiseCopyable {
  var storage = InlineArray<1200, UInt8>(repeating: 0)
  /// The number of bytes, at most `Wire.maximumAudioMessageSize`.
  public private(set) var count = 0

  @_noLocks @_noAllocation
  init(_ kind: AudioKind, ttl: UInt8 = Wire.timeToLive, from node: NodeID) {
    append(Wire.audioProtocol)
    append(UInt64(kind.code), size: 1)
    append(UInt64(ttl), size: 1)
    append(0, size: 2)
    append(node.rawValue)
  }

  /// Makes a packet of any bytes, for tests with forged packets. Returns nil if there are too many bytes.
  public init?(copying bytes: UnsafeRawBufferPointer) {
    guard bytes.count <= 1200 else { return nil }
    for byte in bytes { append(byte) }
  }

  /// The bytes to send, valid only while `body` runs.
  public func withUnsafeBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try Swift.withUnsafeBytes(of: storage) { (bytes) throws(Failure) in
      try body(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
    }
  }

  @_noLocks @_noAllocation
  mutating func append(_ byte: UInt8) {
    assert(count < 1200, "a message that does not fit its packet")
    guard count < 1200 else { return }
    storage[count] = byte
    count &+= 1
  }

  /// Appends the last `size` bytes of a number, the most significant byte first.
  @_noLocks @_noAllocation
  mutating func append(_ value: UInt64, size: Int = 8) {
    var left = size
    while left > 0 {
      left &-= 1
      append(UInt8(truncatingIfNeeded: value >> UInt64(truncatingIfNeeded: 8 &* left)))
    }
  }

  @_noLocks @_noAllocation
  fileprivate mutating func append(key: EntryKey, size: Int) {
    append(UInt64(key.code), size: 4)
    append(UInt64(truncatingIfNeeded: size), size: 4)
  }

  @_noLocks @_noAllocation
  fileprivate mutating func append(text: UnsafeRawBufferPointer) {
    append(UInt64(truncatingIfNeeded: text.count), size: 4)
    var index = 0
    while index < text.count {
      append(text[index])
      index &+= 1
    }
  }

  @_noLocks @_noAllocation
  func copy(to bytes: UnsafeMutableRawBufferPointer) {
    var index = 0
    while index < Swift.min(count, bytes.count) {
      bytes[index] = storage[index]
      index &+= 1
    }
  }

  /// Writes a number into the four bytes at `place`, which were zero until now.
  @_noLocks @_noAllocation
  fileprivate mutating func write(_ value: Int, at place: Int) {
    storage[place] = UInt8(truncatingIfNeeded: value >> 24)
    storage[place &+ 1] = UInt8(truncatingIfNeeded: value >> 16)
    storage[place &+ 2] = UInt8(truncatingIfNeeded: value >> 8)
    storage[place &+ 3] = UInt8(truncatingIfNeeded: value)
  }
}

/// Builds an announcement. Add channels until a channel does not fit, and begin the next announcement with
/// that channel.
public struct AnnouncementWriter {
  private var packet: AudioPacket
  private let ping: AudioEcho?
  private var hasPing: Bool {
    @_noLocks @_noAllocation get {
      if case .some = ping { true } else { false }
    }
  }
  private let listStart: Int
  private var channelCount = 0

  /// Begins an announcement. Names that are too long are cut. Give a ping only to the first announcement of a
  /// long list.
  @_noLocks @_noAllocation
  public init(from node: NodeID, in session: SessionID, named name: UnsafeRawBufferPointer, ping: AudioEcho?)
  {
    self.ping = ping
    packet = AudioPacket(.announcement, from: node)
    packet.append(key: .session, size: 8)
    packet.append(session.rawValue)
    let size = Wire.nameSize(name)
    packet.append(key: .peerName, size: 4 &+ size)
    packet.append(text: UnsafeRawBufferPointer(rebasing: name[..<size]))
    listStart = packet.count
    packet.append(key: .channels, size: 4)
    packet.append(0, size: 4)
  }

  /// Adds a channel. Returns false if the channel does not fit.
  @_noLocks @_noAllocation
  public mutating func add(_ channel: ChannelID, named name: UnsafeRawBufferPointer) -> Bool {
    let size = Wire.nameSize(name)
    var room = Wire.discoveryHeaderSize &+ Wire.announcementRoom
    if hasPing { room &-= 16 }
    guard packet.count &+ 12 &+ size <= room else { return false }
    packet.append(text: UnsafeRawBufferPointer(rebasing: name[..<size]))
    packet.append(channel.rawValue)
    channelCount &+= 1
    return true
  }

  /// The datagram with the channels that were added.
  @_noLocks @_noAllocation
  public consuming func finish() -> AudioPacket {
    packet.write(packet.count &- listStart &- 8, at: listStart &+ 4)
    packet.write(channelCount, at: listStart &+ 8)
    if let ping {
      packet.append(key: .hostTime, size: 8)
      packet.append(ping.rawValue)
    }
    return packet
  }
}

extension AudioPacket {
  /// Says goodbye for the first `Wire.maximumByes` of these channels.
  @_noLocks @_noAllocation
  public static func byes(_ channels: UnsafeBufferPointer<ChannelID>, from node: NodeID) -> AudioPacket {
    let count = Swift.min(channels.count, Wire.maximumByes)
    var packet = AudioPacket(.byes, from: node)
    packet.append(key: .channelByes, size: 4 &+ 8 &* count)
    packet.append(UInt64(truncatingIfNeeded: count), size: 4)
    var index = 0
    while index < count {
      packet.append(channels[index].rawValue)
      index &+= 1
    }
    return packet
  }

  /// The pong to an announcement, with the announcement's echo data.
  @_noLocks @_noAllocation
  public static func pong(_ echo: AudioEcho, from node: NodeID) -> AudioPacket {
    var packet = AudioPacket(.pong, from: node)
    packet.append(key: .hostTime, size: 8)
    packet.append(echo.rawValue)
    return packet
  }

  /// Requests a channel for `ttl` seconds. To keep the channel, request it again before these seconds end.
  @_noLocks @_noAllocation
  public static func request(
    _ channel: ChannelID, from node: NodeID, ttl: UInt8 = Wire.timeToLive
  ) -> AudioPacket {
    var packet = AudioPacket(.request, ttl: ttl, from: node)
    packet.append(key: .channel, size: 8)
    packet.append(channel.rawValue)
    return packet
  }

  /// Ends the request of a channel.
  @_noLocks @_noAllocation
  public static func stop(_ channel: ChannelID, from node: NodeID) -> AudioPacket {
    var packet = AudioPacket(.stop, ttl: 0, from: node)
    packet.append(key: .channel, size: 8)
    packet.append(channel.rawValue)
    return packet
  }
}
