// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport
import Testing

/// Runs `tools/listen` in a stage. It listens to a JACK port, and knows through the reference library on
/// which beat of the session each onset and MIDI clock was heard. It is a Link peer itself, and can play,
/// stop and change the tempo.
final class Ears {
  /// An onset, or a MIDI message.
  struct Event {
    /// The session's beat, as a peer with the reference library hears it.
    let beat: Double
    /// Milliseconds after the nearest beat; for a MIDI clock, after the nearest 24th of a beat.
    let late: Double
    /// When the event was heard, in microseconds of Link's clock.
    let heard: Double
    /// Two frames on JACK's frame counter: the frame of the event, and the frame from which on no cycle
    /// was lost until the event.
    let frame, unbrokenFrom: Double
    let port: String
    /// The bytes of a MIDI message, in hexadecimal; nil for onsets and clocks.
    let bytes: String?
    /// Whether the event can be judged: there was no lost cycle and no change of the session nearby, and
    /// JACK's clock was within 300 us of wall-clock time. After lost cycles, JACK's clock is off for
    /// seconds, and every program that plays by this clock is late by the same time.
    let isSure: Bool
  }

  private let process: ChildProcess
  /// Whether no cycle was lost in the time of the last report.
  private(set) var isWhole = true

  /// Waits until the ports exist: programs with windows start slowly on a busy machine. Then waits until the
  /// session of these programs is certainly older than the session that the listener founds when it starts:
  /// of two sessions, the older one wins. `offsets`: the offset of each port, in milliseconds.
  convenience init(_ ports: String..., in stage: LabStage, on host: Int = 1) async throws {
    try await self.init(ports, offsets: [], in: stage, on: host)
  }

  init(_ ports: [String], offsets: [Double], in stage: LabStage, on host: Int = 1) async throws {
    let wait = "for i in $(seq 900); do jack_lsp | grep -Fxq \"$1\" && exit 0; sleep 0.1; done; exit 1"
    for port in ports {
      let name = String(port.prefix { $0 != "@" })
      let there = try await ChildProcess.run(
        stage.command(on: host, ["sh", "-c", wait, "sh", name]), within: .seconds(180))
      guard there.status == 0 else {
        throw ChildProcess.Failure.ended(status: there.status, errors: "\(name) never was there")
      }
    }
    try await Task.sleep(for: LabPeer.ageThatCounts)
    process = try ChildProcess(
      stage.command(
        on: host,
        [
          Lab.top + "/tools/listen", "--json", "--start-stop", "--events",
          "--offsets=" + offsets.map { "\($0)" }.joined(separator: ","),
        ] + ports))
    _ = try await process.line(within: .seconds(90))
    // On a busy machine the listener may need long to measure the session's time. Until then it is alone, and
    // compares everything with its own beats. Wait for at most ten seconds, because there may be no other
    // peer.
    for _ in 0..<100 where try await peers() == 0 { try await Task.sleep(for: .milliseconds(100)) }
  }

  private func peers() async throws -> Int {
    process.send("peers")
    while let line = try await process.line(within: .seconds(30)) {
      guard let fields = FlatJSON.object(line), fields["type"] == .text("peers") else { continue }
      return Int(fields["count"]?.number ?? 0)
    }
    throw ChildProcess.Failure.ended(status: await process.status(), errors: process.saidOnErrors)
  }

  /// Sends a command: `play`, `stop` or `tempo BPM` in the session.
  func say(_ line: String) { process.send(line) }

  /// Listens for `time` and returns the events of this time.
  func listen(for time: Duration) async throws -> [Event] {
    process.send("section now")
    try await Task.sleep(for: time)
    return try await report()
  }

  /// The events since the last `section now` command.
  func report() async throws -> [Event] {
    process.send("report")
    var events: [Event] = []
    isWhole = true
    while let line = try await process.line(within: .seconds(30)) {
      if line.contains("\"type\":\"method\"") {
        isWhole = line.contains("\"interruptions\":0,\"server_stalls\":0,")
      }
      guard !line.hasPrefix("{\"type\":\"end\"") else { return events }
      guard let fields = FlatJSON.object(line), let beat = fields["beat"]?.number else { continue }
      let bytes: String? = if case .text(let text)? = fields["bytes"] { text } else { nil }
      let port: String = if case .text(let text)? = fields["port"] { text } else { "" }
      let (error, wallError) = (fields["error"]?.number ?? .nan, fields["wall_error"]?.number ?? .nan)
      events.append(
        Event(
          beat: beat, late: error / 1000, heard: fields["heard"]?.number ?? .nan,
          frame: fields["frame"]?.number ?? .nan, unbrokenFrom: fields["unbroken_from"]?.number ?? .nan,
          port: port, bytes: bytes,
          isSure: fields["steady"] == .boolean(true) && (fields["since_stall"]?.number ?? 0) >= 2
            && abs(error - wallError) < 300))
    }
    throw ChildProcess.Failure.ended(status: await process.status(), errors: process.saidOnErrors)
  }

  /// Waits for a first event, then listens for `time`.
  func listen(for time: Duration, fromTheFirstWithin seconds: Double) async throws -> [Event] {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while try await listen(for: .milliseconds(500)).isEmpty {
      guard ContinuousClock.now < deadline else { return [] }
    }
    return try await listen(for: time)
  }

  /// Listens until it has heard `count` intervals that can be judged. If the machine keeps losing cycles, the
  /// test ends as not judged. If there are too few events at all, returns the few.
  func listen(forIntervals count: Int, within seconds: Double = 60) async throws -> [Event] {
    let deadline = ContinuousClock.now + .seconds(seconds)
    process.send("section now")
    while true {
      try await Task.sleep(for: .milliseconds(500))
      let heard = try await report()
      if heard.intervals.count >= count { return heard }
      guard ContinuousClock.now > deadline else { continue }
      guard heard.count > count else { return heard }
      try unjudged("JACK lost cycles all the while")
    }
  }

  /// Listens until there was silence for 1.5 seconds. Returns false if there never was.
  func receiveSilence(within seconds: Double) async throws -> Bool {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while try await !listen(for: .milliseconds(1500)).isEmpty {
      guard ContinuousClock.now < deadline else { return false }
    }
    return true
  }
}

extension [Ears.Event] {
  /// The median lateness of the events that can be judged, in milliseconds.
  var lateness: Double { Interop.median(filter(\.isSure).map(\.late)) }

  /// Milliseconds between successive events, counted in frames, with 48 frames to a millisecond. Frames are
  /// counted because JACK's times are off by up to 1/2000 while its clock settles on a busy machine.
  /// Intervals with a lost cycle are left out, because a program that counts cycles is late after it.
  var intervals: [Double] {
    zip(self, dropFirst()).filter { $0.isSure && $1.isSure && $1.unbrokenFrom <= $0.frame }
      .map { ($1.frame - $0.frame) / 48 }
  }

  var interval: Double { Interop.median(intervals) }
}

extension [Ears.Event] {
  /// How much later the clicks are heard than the transport's position says, in milliseconds. `step`: the
  /// distance of the clicks in the song, in milliseconds. The transport must roll, and must not be moved
  /// meanwhile.
  func behind(_ transport: LabPeer, clickingEach step: Double) async throws -> [Double] {
    // The song's position at time 0 of Link's clock. It is the median of five readings, because the test may
    // be interrupted during a reading.
    var origins: [Double] = []
    for _ in 1...5 {
      let shown = try await transport.ask("status")
      let (time, latency) = (shown["time"]?.number ?? .nan, shown["latency"]?.number ?? .nan)
      origins.append((shown["frame"]?.number ?? .nan) / 48 - (time + latency) / 1000)
    }
    let origin = Interop.median(origins)
    return filter(\.isSure).map { Interop.distance(($0.heard / 1000 + origin) / step, 0, quantum: 1) * step }
  }
}
