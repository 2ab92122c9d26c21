// SPDX-License-Identifier: GPL-2.0-or-later
import AudioLanes
import BeatMath
import LinkAudioPath
import LinkAudioSession
import LinkWire

// The network's ends of the lanes: samples become datagrams and datagrams samples.

/// A channel of ours on its way to those who listen.
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

  mutating func take(_ routes: [AudioRoute]) {
    // What the audio thread left when the last listener went is old.
    if self.routes.isEmpty { lane.drain { _, _ in } }
    self.routes = routes
    lane.isWanted = !routes.isEmpty
  }

  /// Everything that waits, to everybody who listens.
  mutating func send(
    from node: NodeID, in session: SessionID,
    _ body: (UnsafeRawBufferPointer, AudioRoute) -> Void
  ) {
    let (id, routes) = (id, routes)
    func send(_ datagram: AudioDatagram) {
      // Of the session that we have just left: nobody would play it.
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
  /// As it goes over the wire; its size.
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
            begin: Beats(micros: chunks[place].begin),
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

/// A channel of somebody else on its way to our outputs.
struct Incoming: Sendable {
  var lanes: [ReceiveLane] = []
  /// Its channel is there.
  var isConnected = false

  /// How many chunks found no room.
  func take(_ buffer: AudioBuffer, arrivedAt arrival: Micros) -> Int {
    var refused = 0
    var first = 0
    for place in 0..<buffer.chunkCount {
      let chunk = buffer.chunk(at: place)
      let head = AudioChunk(
        session: buffer.format.session.rawValue, number: chunk.number, begin: chunk.begin.micros,
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
