// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAudio

/// A sender and a receiver of Link Audio on this machine. Prints the frequency of the sender's tone as the
/// receiver plays it, the number of listeners, and the number of dropouts.
@main
enum Send {
  static func main() async throws {
    let (rack, desk) = (try peer(), try peer())
    let sender = try LinkAudio(rack, peerName: "Rack")
    let receiver = try LinkAudio(desk, peerName: "Desk")
    for audio in [sender, receiver] { audio.isEnabled = true }
    let input = LinkAudio.SendLane(.mono)
    let sink = try sender.publish(input, as: "Tone")
    let output = LinkAudio.ReceiveLane()
    let source = try await subscription(of: receiver, to: "Tone", output)
    guard let sent = input.takeEnd(), let played = output.takeEnd(), let first = rack.takeAudio(),
      let second = desk.takeAudio()
    else { return print("the audio is taken") }
    var cable = Cable(rack: first, desk: second, sent: sent, played: played)
    var samples = [Float](repeating: 0, count: Cable.frames)
    var begin = Link.now
    while !output.figures.isPlaying || source?.isConnected != true {
      cable.process(begin, &samples)
      begin = try await next(begin)
    }
    // The sound begins after the playout delay, which takes fewer than 80 periods. Then one second is
    // measured.
    for period in 0..<280 {
      if period == 80 { cable.rises = 0 }
      cable.process(begin, &samples)
      begin = try await next(begin)
    }
    print("\(cable.rises) Hz, \(sink.listenerCount) listener, \(output.figures.dropouts) dropouts")
    for link in [rack, desk] { link.isEnabled = false }
  }

  static func peer() throws -> Link {
    let link = try Link(configuration: Link.Configuration(interfaces: ["lo"]))
    link.isEnabled = true
    return link
  }

  static func subscription(
    of audio: LinkAudio, to name: String, _ lane: LinkAudio.ReceiveLane
  ) async throws -> LinkAudio.Source? {
    for await channels in audio.channelUpdates() {
      if let channel = channels.first(where: { $0.name == name }) {
        return try audio.subscribe(lane, to: channel.id)
      }
    }
    return nil
  }

  static func next(_ begin: Link.Instant) async throws -> Link.Instant {
    let next = begin.advanced(frames: Cable.frames, sampleRate: 48_000)
    try await Task.sleep(until: next, clock: .link)
    return next
  }
}

/// The audio thread's side of both peers.
struct Cable: ~Copyable {
  static let frames = 240
  var rack: Link.AudioHandle
  var desk: Link.AudioHandle
  var sent: LinkAudio.SendEnd
  var played: LinkAudio.ReceiveEnd
  private var phase: Float = 0
  private var last: Float = 0
  /// How often the played signal has risen above zero.
  var rises = 0

  init(
    rack: consuming Link.AudioHandle, desk: consuming Link.AudioHandle, sent: consuming LinkAudio.SendEnd,
    played: consuming LinkAudio.ReceiveEnd
  ) {
    self.rack = rack
    self.desk = desk
    self.sent = sent
    self.played = played
  }

  mutating func process(_ begin: Link.Instant, _ samples: inout [Float]) {
    for index in samples.indices {
      // A triangle of 440 Hz.
      phase += 440 / 48_000
      if phase >= 1 { phase -= 1 }
      samples[index] = abs(phase - 0.5) - 0.25
    }
    let out = LinkAudio.Period(
      rack.capture(at: begin), frames: Self.frames, sampleRate: 48_000, start: begin)
    sent.send(out, samples.span)
    let into = LinkAudio.Period(
      desk.capture(at: begin), frames: Self.frames, sampleRate: 48_000, start: begin)
    var span = samples.mutableSpan
    played.render(into, delay: .fixed(.milliseconds(150)), &span)
    for sample in samples {
      if last <= 0, sample > 0 { rises += 1 }
      last = sample
    }
  }
}
