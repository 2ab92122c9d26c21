// SPDX-License-Identifier: GPL-2.0-or-later
import TestSupport
import Testing

/// `tools/listen` in a stage: hears a JACK port and knows, through the reference library, which beat of the session each
/// onset and each MIDI clock was heard on. It is a Link peer of its own and can play, stop and change the tempo.
final class Ears {
  /// An onset, or a MIDI message.
  struct Event {
    /// Of the session, as a peer with the reference library hears it.
    let beat: Double
    /// Late by so many milliseconds, to the nearest beat (or 24th of a beat).
    let late: Double
    /// Microseconds of Link's clock.
    let heard: Double
    /// Of JACK's frame counter, as is the frame from which on no cycle has been lost until then.
    let frame, unbrokenFrom: Double
    let port: String
    /// Of a MIDI message, in hexadecimal; nil for onsets and clocks.
    let bytes: String?
    /// No lost cycle and no change of the session close by, and JACK's clock is within 300 us of the wall's: after lost cycles
    /// it is not for seconds, and whoever plays by it is as late.
    let isSure: Bool
  }

  private let process: ChildProcess

  /// Waits until the ports are there: programs with windows take long to start on a busy machine. Then until a session of
  /// theirs is older for certain. `offsets`: what each port is sent earlier by, in milliseconds.
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
    // Where the machine was too busy for it to measure the session's time it is still alone, and hears all against beats of its own. Ten
    // seconds: somebody may have nobody to meet.
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

  /// `play`, `stop`, `tempo BPM`: in the session.
  func say(_ line: String) { process.send(line) }

  /// What is heard from now on for so long.
  func listen(for time: Duration) async throws -> [Event] {
    process.send("section now")
    try await Task.sleep(for: time)
    return try await report()
  }

  /// What was heard since the section began.
  func report() async throws -> [Event] {
    process.send("report")
    var events: [Event] = []
    while let line = try await process.line(within: .seconds(30)) {
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

  /// Listens until something is heard, then for so long.
  func listen(for time: Duration, fromTheFirstWithin seconds: Double) async throws -> [Event] {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while try await listen(for: .milliseconds(500)).isEmpty {
      guard ContinuousClock.now < deadline else { return [] }
    }
    return try await listen(for: time)
  }

  /// Listens from now on until it has heard so many intervals that can be relied on. On a machine where there is always a
  /// lost cycle in between the test ends unjudged; where too little is heard at all, here is that little.
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

  /// Listens until it is quiet for 1.5 seconds. False: it never was.
  func hearSilence(within seconds: Double) async throws -> Bool {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while try await !listen(for: .milliseconds(1500)).isEmpty {
      guard ContinuousClock.now < deadline else { return false }
    }
    return true
  }
}

extension [Ears.Event] {
  /// Milliseconds, of those that can be relied on.
  var lateness: Double { Interop.median(filter(\.isSure).map(\.late)) }

  /// Milliseconds between one and the next, of 48 frames: when those are heard JACK knows to half a thousandth only, as
  /// long as it looks for its clock on a busy machine. Who counts cycles plays late by those that are lost in between.
  var intervals: [Double] {
    zip(self, dropFirst()).filter { $0.isSure && $1.isSure && $1.unbrokenFrom <= $0.frame }
      .map { ($1.frame - $0.frame) / 48 }
  }

  var interval: Double { Interop.median(intervals) }
}

extension [Ears.Event] {
  /// Milliseconds that clicks, one each so many of the song, come behind the transport's place that is heard with them. While it rolls, and
  /// has not been moved since.
  func behind(_ transport: LabPeer, clickingEach step: Double) async throws -> [Double] {
    // Where a moment of Link's clock is in the song, in the median of several looks: one may be interrupted.
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
