// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import Link
import LinkAudio
import LinkAudioLanes
import LinkAudioPath
import LinkWire

/// The Link Audio of this peer: sends channels with a pulse on every beat, and receives a channel of another
/// peer.
final class Studio {
  private let link: Link
  private let audio: LinkAudio
  private let card: Card
  private var sent: [(name: String, lane: SendLane, sink: LinkAudio.Sink)] = []
  private var taken: (lane: ReceiveLane, source: LinkAudio.Source)?
  private var others: [(lane: ReceiveLane, source: LinkAudio.Source)] = []

  init(_ link: Link, named name: String, sampleRate: UInt32, ppm: Double) throws {
    self.link = link
    audio = try LinkAudio(link, peerName: name)
    audio.isEnabled = true
    card = try Card(link, sampleRate: sampleRate, ppm: ppm)
  }

  deinit {
    card.end()
    // Wait until the card's thread has seen the change and no longer uses the lanes.
    usleep(50_000)
  }

  func switchAudio(_ isOn: Bool) { audio.isEnabled = isOn }

  func send(_ name: String, channels: Int) throws(Refusal) {
    let lane = SendLane(channels: channels)
    guard let sink = audio.publish(lane, as: name) else { throw Refusal("too many channels") }
    sent.append((name, lane, sink))
    card.send(sent.map(\.lane.audio))
  }

  func unsend(_ name: String) {
    card.send(sent.filter { $0.name != name }.map(\.lane.audio))
    sent.removeAll { $0.name == name }
  }

  var channels: [String] {
    let names = audio.channels.map { "\($0.peerName)/\($0.name)" }
    return ["\"count\": \(names.count)", "\"names\": \"\(names.joined(separator: " "))\""]
  }

  /// Waits for the channel, subscribes to it, and returns the time until its first sound.
  func take(_ name: String, delay: PlayoutDelay) throws(Refusal) -> [String] {
    let limit = Link.clock().count + 10_000_000
    var found: LinkAudio.Channel?
    while found == nil, Link.clock().count < limit {
      found = audio.channels.first { "\($0.peerName)/\($0.name)" == name }
      if found == nil { usleep(1000) }
    }
    guard let channel = found else { throw Refusal("\(name) did not come") }
    let lane = ReceiveLane()
    card.play(lane.audio, delay)
    let begin = Link.clock().count
    guard let source = audio.subscribe(lane, to: channel.id.node) else { throw Refusal("too many sources") }
    taken = (lane, source)
    while !lane.figures().isPlaying, Link.clock().count < limit { usleep(1000) }
    guard lane.figures().isPlaying else { throw Refusal("\(name) is not heard") }
    return ["\"milliseconds\": \(Double(Link.clock().count - begin) / 1000)"]
  }

  /// Subscribes to every channel, and returns their number.
  func takeAll() -> [String] {
    others = audio.channels.compactMap { channel in
      let lane = ReceiveLane()
      return audio.subscribe(lane, to: channel.id.node).map { (lane, $0) }
    }
    card.playBeside(others.map(\.lane.audio))
    return ["\"count\": \(others.count)"]
  }

  func sendTone() { card.sendTone() }

  /// Writes what is played in the next `seconds` into a file of floats.
  func record(to path: String, seconds: Double) throws(Refusal) {
    let frames = card.keep(Int(seconds * Double(card.sampleRate)))
    guard let file = fopen(path, "we") else { throw Refusal("\(path) cannot be written") }
    defer { fclose(file) }
    let written = frames.withUnsafeBytes { fwrite($0.baseAddress, 1, $0.count, file) }
    guard written == frames.count * MemoryLayout<Float>.stride else { throw Refusal("\(path) is not whole") }
  }

  func release() {
    card.play(nil, .standard)
    taken = nil
  }

  /// How far the pulses since the last call were from the beat, in frames.
  func heard() throws(Refusal) -> [String] {
    guard let taken else { throw Refusal("no channel is taken") }
    let heard = card.takeHeard().sorted()
    let figures = taken.lane.figures()
    let places =
      heard.isEmpty
      ? []
      : [
        "\"median\": \(heard[heard.count / 2])", "\"least\": \(heard[0])",
        "\"most\": \(heard[heard.count - 1])",
      ]
    return [
      "\"pulses\": \(heard.count)", "\"receiving\": \(figures.isReceiving)",
      "\"playing\": \(figures.isPlaying)",
      "\"received\": \(figures.received)", "\"lost\": \(figures.lost)", "\"late\": \(figures.late)",
      "\"dropouts\": \(figures.dropouts)", "\"concealed\": \(figures.concealed)",
      "\"streams\": \(figures.streams)", "\"delay\": \(figures.delay)", "\"jitter\": \(figures.jitter)",
      "\"connected\": \(taken.source.isConnected)",
    ] + places
  }

  var health: [String] {
    let health = audio.diagnostics
    return [
      "\"listeners\": \(sent.map(\.sink.listenerCount).reduce(0, +))", "\"ways\": \(health.load.receivers)",
      "\"received\": \(health.counters.received)", "\"malformed\": \(health.counters.malformed)",
      "\"unwanted\": \(health.counters.unwantedAudio)", "\"unknown\": \(health.counters.unknownSender)",
      "\"forged\": \(health.counters.forgedAudio)", "\"overflows\": \(health.overflows)",
      "\"refused\": \(sent.map(\.lane.refusedCount).reduce(0, +))",
    ]
  }
}
