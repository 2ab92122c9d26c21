// SPDX-License-Identifier: GPL-2.0-or-later
internal import LinkAudioLanes
internal import LinkAudioPath
internal import LinkAudioSession
internal import LinkBeatMath
internal import LinkWire

// The network ends of the lanes. They turn samples into datagrams, and datagrams into samples.

/// The network end of a channel of ours: it sends the lane's audio to the subscribers.
struct Outgoing: Sendable {
  let id: ChannelID
  let lane: SendLane
  private(set) var routes: [AudioRoute] = []
  private var chunker: Chunker

  init(id: ChannelID, lane: SendLane) {
    self.id = id
    self.lane = lane
    chunker = Chunker(seed: id.rawValue)
  }

  mutating func update(_ routes: [AudioRoute]) {
    // If the lane still contains audio from the time of the last subscriber, that audio is too old now.
    if self.routes.isEmpty { lane.drain { _, _ in } }
    self.routes = routes
    lane.isWanted = !routes.isEmpty
  }

  /// Sends all audio that waits in the lane to all subscribers.
  mutating func send(
    from node: NodeID, in session: SessionID,
    _ body: (UnsafeRawBufferPointer, AudioRoute) -> Void
  ) {
    let (id, routes) = (id, routes)
    func send(_ datagram: AudioDatagram) {
      // Audio that is stamped with the beats of a session that we have left would not be played by any peer.
      guard datagram.session == session.rawValue else { return }
      withUnsafeTemporaryAllocation(byteCount: Wire.maximumAudioMessageSize, alignment: 8) { memory in
        guard let size = datagram.write(as: id, from: node, to: memory) else { return }
        let bytes = UnsafeRawBufferPointer(rebasing: memory[..<size])
        for route in routes { body(bytes, route) }
      }
    }
    var chunker = chunker
    lane.drain { period, samples in chunker.add(period, samples: samples) { send(copy $0) } }
    chunker.flush { send(copy $0) }
    self.chunker = chunker
  }
}

extension AudioDatagram {
  /// Writes the bytes of the datagram. Returns their number.
  fileprivate func write(
    as channel: ChannelID, from node: NodeID, to memory: UnsafeMutableRawBufferPointer
  ) -> Int? {
    let format = AudioFormat(
      channel: channel, session: SessionID(rawValue: session), sampleRate: Int(sampleRate),
      channelCount: Int(channels))
    let count = chunkCount
    let room = withUnsafeTemporaryAllocation(of: AudioBuffer.Chunk.self, capacity: count) { list in
      for place in 0..<count {
        list.initializeElement(
          at: place,
          to: AudioBuffer.Chunk(
            number: chunks[place].number, frames: Int(chunks[place].frames),
            begin: Beats(millionths: chunks[place].begin),
            tempo: Tempo(microsPerBeat: chunks[place].microsPerBeat)))
      }
      return encodeAudioBuffer(format, from: node, chunks: UnsafeBufferPointer(list), into: memory)
    }
    guard let room, room.count == sampleCount * 2 else { return nil }
    for place in 0..<sampleCount {
      room.storeBytes(of: samples[place].bigEndian, toByteOffset: 2 * place, as: Int16.self)
    }
    return room.baseAddress! - memory.baseAddress! + room.count
  }
}

/// The network end of a peer's channel: it puts received audio into the lanes of our outputs.
struct Incoming: Sendable {
  var lanes: [ReceiveLane] = []
  /// Whether a peer announces the channel at present.
  var isConnected = false

  /// Puts a datagram's chunks into the lanes. Returns the number of chunks that full lanes refused.
  func accept(_ buffer: AudioBuffer, arrivedAt arrival: Micros) -> Int {
    var refused = 0
    var first = 0
    for place in 0..<buffer.chunkCount {
      let chunk = buffer.chunk(at: place)
      let head = AudioChunk(
        session: buffer.format.session.rawValue, number: chunk.number, begin: chunk.begin.millionths,
        microsPerBeat: chunk.tempo.microsPerBeat, arrival: arrival.count,
        sampleRate: UInt32(buffer.format.sampleRate), frames: UInt16(chunk.frames),
        channels: UInt8(buffer.format.channelCount))
      for lane in lanes {
        let isTaken = lane.put(head) { samples in
          for index in samples.indices {
            samples.initializeElement(at: index, to: Float(buffer.sample(at: first + index)) / 32768)
          }
        }
        if !isTaken { refused += 1 }
      }
      first += chunk.frames * buffer.format.channelCount
    }
    return refused
  }
}
