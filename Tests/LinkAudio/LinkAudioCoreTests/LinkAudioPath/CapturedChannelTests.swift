// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAddresses
import LinkAudioPath
import LinkAudioSession
import LinkBeatMath
import LinkWire
import TactusTestSupport
import Testing

/// Plays the recorded datagrams of a peer that uses the reference library. Our receiver takes the place of
/// the recorded subscriber.
struct CapturedChannelTests {
  /// The allowed error in frames. The recorded stamps are up to two frames early (facts: link-audio 5.2).
  private static let most = 2.5

  @Test func `clicks of a recorded channel are at their beats, and old audio is mute`() throws {
    for isAnother in [false, true] {
      let replay = try Replay("mono-resubscribed")
      var stale = 0
      replay.inspect = { chunk, samples in
        guard replay.time(of: chunk.begin) < Double(chunk.arrival) - 1e6 else { return }
        stale += 1
        for index in samples.indices { samples[index] = index & 4 == 0 ? 0.9 : -0.9 }
      }
      replay.play(to: replay.start + 9e6)
      if isAnother { replay.beginAnew() }
      // The recording ends in the middle of a click, which concealment then completes.
      replay.play(to: replay.start + 13.15e6)
      print("a captured channel:", replay.ear.clicks, replay.receiver.playout.figures)
      #expect(stale == 208)
      #expect(replay.ear.clicks.map(\.beat) == [11, 12, 13, 23, 24, 25])
      #expect(replay.ear.clicks.allSatisfy { abs($0.apart) <= Self.most })
      #expect(replay.ear.loudest < 0.6)
      #expect(replay.receiver.playout.figures.dropouts == 0)
    }
  }

  @Test func `in a recorded change of tempo the clicks stay at their beats`() throws {
    let replay = try Replay("stereo-tempo")
    replay.play(to: replay.end)
    print("a captured change of tempo:", replay.ear.clicks, replay.receiver.playout.figures)
    #expect(replay.tempos == [500_000, 451_128])
    #expect(replay.ear.clicks.map(\.beat) == Array(4...19))
    // The click of beat 16 is on its way during the change of tempo, and follows the old tempo until 20 ms
    // after the change.
    #expect(replay.ear.clicks.allSatisfy { abs($0.apart) <= Self.most || $0.beat == 16 })
    #expect(replay.receiver.playout.figures.lost == 0)
  }
}

/// Takes the part of the recorded subscriber, with its id, socket and session, and subscribes at the same
/// time as in the recording.
///
/// The recording's clock is also the host's clock. The recording does not contain the offset of this clock
/// from the session's clock, so we assume that the first audio came a few milliseconds after the audio's
/// beat.
private final class Replay {
  private let datagrams: [CapturedDatagram]
  private var next = 0
  private var machine: LinkAudioSession
  private var source: SourceID?
  private let publisher: Publisher
  let receiver = Receiver()
  let ear = Ear()
  private(set) var tempos: [Int64] = []
  private var grid: SessionGrid
  private var frame = 0
  let start: Double
  /// Called for each chunk before it is played.
  var inspect: (AudioChunk, inout [Float]) -> Void = { _, _ in }
  private var now: Double { start + Double(frame) * Self.frameMicros }

  private static let gateway = GatewayID(rawValue: 1)
  private static let period = 256
  private static let frameMicros = 1e6 / 48_000
  /// The assumed time from the first chunk's beat to the chunk's arrival.
  private static let usualWait = 3000.0

  init(_ name: String) throws {
    datagrams = CapturedDatagram.recorded(as: name)
    let first = try #require(datagrams.first)
    start = Double(first.time)
    publisher = try #require(Publisher(in: datagrams))
    grid = SessionGrid(session: publisher.session.rawValue, origin: 0, beatMicros: 500_000)
    machine = LinkAudioSession(
      secret: (3, 4), node: publisher.subscriber, session: publisher.session, at: Micros(first.time))
    for input: LinkAudioSession.Input in [
      .name("here"), .enable(true), .gatewayOpened(Self.gateway, .v4(0x7f00_0001)),
    ] {
      machine.handle(input, at: Micros(first.time))
      drain()
    }
  }

  var end: Double { Double(datagrams.last?.time ?? 0) }

  func time(of microbeats: Int64) -> Double { grid.time(of: microbeats) }

  /// Makes the receiver forget its stream, as if it were a new subscriber.
  func beginAnew() { receiver.forget() }

  func play(to end: Double) {
    while now < end {
      let now = now
      while next < datagrams.count, Double(datagrams[next].time) <= now {
        receive(datagrams[next])
        next += 1
      }
      machine.handle(.deadline, at: Micros(Int64(now)))
      drain()
      let hearing = hearing
      receiver.render(hearing) { index, value in
        let late = receiver.playout.figures.delay * 1000
        let heard = now + Double(index) * Self.frameMicros - late
        ear.listen(value.x, (heard - grid.origin) / grid.beatMicros, grid.beatMicros / Self.frameMicros)
      }
      frame += Self.period
    }
  }

  private var hearing: OutputPeriod {
    OutputPeriod(
      frames: Self.period, sampleRate: 48_000, start: now, frameMicros: Self.frameMicros, latencyMicros: 0,
      grid: grid)
  }

  private func receive(_ datagram: CapturedDatagram) {
    let at = Micros(datagram.time)
    let from = Endpoint(.v4(datagram.source.address), port: datagram.source.port)
    datagram.bytes.withUnsafeBytes { bytes in
      if let message = try? decodeDiscovery(bytes) { return see(message, at: at) }
      guard let message = try? decodeAudio(bytes) else { return }
      switch message.body {
      // This is a request of the recorded subscriber, which we replace.
      case .request(let channel): source = source ?? machine.subscribe(to: channel, at: at)
      case .stop:
        if let source { machine.release(source, at: at) }
        source = nil
      // This is an answer to the recorded subscriber, and not to us.
      case .pong: return
      case .announcement, .byes, .audio:
        guard message.node == publisher.node else { return }
        if let audio = machine.receive(bytes, from: from, on: Self.gateway, at: at) {
          return take(audio.buffer, at: datagram.time)
        }
      }
      drain()
    }
  }

  private func see(_ message: DiscoveryMessage, at: Micros) {
    switch message {
    case .alive(let state, _), .response(let state, _):
      guard state.node == publisher.node else { return }
      machine.handle(
        .peerSeen(state.node, session: state.session, audio: state.audio, on: Self.gateway), at: at)
      if state.session == publisher.session { follow(state.timeline) }
    case .byeBye(let node):
      if node == publisher.node { machine.handle(.peerGone(node, on: Self.gateway), at: at) }
    }
    drain()
  }

  private func follow(_ timeline: Timeline) {
    grid.beatMicros = Double(timeline.tempo.microsPerBeat)
    grid.origin =
      publisher.clock + Double(timeline.timeOrigin.count) - timeline.beatOrigin.value * grid.beatMicros
    if tempos.last != timeline.tempo.microsPerBeat { tempos.append(timeline.tempo.microsPerBeat) }
  }

  private func take(_ buffer: AudioBuffer, at arrival: Int64) {
    var first = 0
    for place in 0..<buffer.chunkCount {
      let part = buffer.chunk(at: place)
      let count = part.frames * buffer.format.channelCount
      var samples = (0..<count).map { Float(buffer.sample(at: first + $0)) / 32_768 }
      first += count
      let chunk = AudioChunk(
        session: buffer.format.session.rawValue, number: part.number, begin: part.begin.millionths,
        microsPerBeat: part.tempo.microsPerBeat, arrival: arrival,
        sampleRate: UInt32(buffer.format.sampleRate), frames: UInt16(part.frames),
        channels: UInt8(buffer.format.channelCount))
      inspect(chunk, &samples)
      receiver.insert(Packet(chunk: chunk, samples: samples, leaves: 0), hearing)
    }
  }

  /// Handles the outputs of our session: the recorded publisher answers our pings.
  private func drain() {
    while true {
      switch machine.nextOutput() {
      case .send(let packet, let endpoint, _):
        packet.withUnsafeBytes { bytes in
          guard case .announcement(let ours)? = try? decodeAudio(bytes).body, let ping = ours.ping else {
            return
          }
          AudioPacket.pong(ping, from: publisher.node).withUnsafeBytes {
            _ = machine.receive($0, from: endpoint, on: Self.gateway, at: Micros(Int64(now)))
          }
        }
      case .routes, .senders, .channels: break
      case .sleep: return
      }
    }
  }

  /// The two recorded peers: the channel's publisher and its subscriber.
  private struct Publisher {
    var node = NodeID(rawValue: 0)
    var subscriber = NodeID(rawValue: 0)
    var session = SessionID(rawValue: 0)
    /// The recording's clock minus the session's clock.
    var clock = 0.0

    init?(in datagrams: [CapturedDatagram]) {
      var timeline: Timeline?
      for datagram in datagrams {
        let isDone = datagram.bytes.withUnsafeBytes { bytes in
          if case .alive(let state, _)? = try? decodeDiscovery(bytes) { timeline = state.timeline }
          guard let message = try? decodeAudio(bytes) else { return false }
          if case .request = message.body { subscriber = message.node }
          guard case .audio(let buffer) = message.body, let timeline else { return false }
          (node, session) = (message.node, buffer.format.session)
          let beat = buffer.chunk(at: 0).begin - timeline.beatOrigin
          let micros = beat.value * Double(timeline.tempo.microsPerBeat)
          clock = Double(datagram.time) - usualWait - Double(timeline.timeOrigin.count) - micros
          return true
        }
        if isDone { return }
      }
      return nil
    }
  }
}

/// The distances of clicks from their beats in frames, by the centres of their energy.
private final class Ear {
  private(set) var clicks: [(beat: Int, apart: Double)] = []
  private(set) var loudest: Float = 0
  private var energy = 0.0
  private var moment = 0.0
  private var quiet = 0
  private var beat = 0

  func listen(_ sample: Float, _ beat: Double, _ framesPerBeat: Double) {
    loudest = max(loudest, abs(sample))
    let power = Double(sample * sample)
    if abs(sample) > 0.003 {
      energy += power
      moment += power * (beat - beat.rounded()) * framesPerBeat
      quiet = 0
      self.beat = Int(beat.rounded())
    } else {
      quiet += 1
    }
    guard quiet == 100, energy > 0 else { return }
    clicks.append((self.beat, moment / energy))
    (energy, moment) = (0, 0)
  }
}
