// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

/// Two machines with a JACK server and a tactus each, whose transports stay at one place of the song.
@Suite struct OneSongTests {
  private static let beatFrames = 24_000.0

  /// The frames at which the two transports are or stand, in beats, at one time. JACK's clock is the same on
  /// all hosts of a lab.
  private func places(_ transports: [LabPeer]) async throws -> [Double] {
    var places: [Double] = []
    var first: Double?
    for transport in transports {
      let status = try await transport.status()
      let frame = status.fields["frame"]?.number ?? .nan
      let time = Double(status.time)
      let passed = status.isPlaying ? (time - (first ?? time)) / 1e6 * 48_000 : 0
      first = first ?? time
      places.append((frame - passed) / Self.beatFrames)
    }
    return places
  }

  /// Waits until both transports are at one place, and returns the milliseconds between them, and how long it
  /// took.
  private func agree(_ transports: [LabPeer], near beat: Double? = nil, within limit: Double = 6) async throws
    -> (apart: Double, after: Double)
  {
    let began = ContinuousClock.now
    var apart = Double.infinity
    var last: [Double] = []
    while began.duration(to: .now) < .seconds(limit) {
      last = try await places(transports)
      apart = abs(last[0] - last[1]) * 500
      if apart < 12, beat.map({ abs(last[0] - $0) < 0.01 }) ?? true {
        return (
          apart,
          Double(began.duration(to: .now).components.attoseconds) / 1e15
            + Double(began.duration(to: .now).components.seconds) * 1000
        )
      }
      try await Task.sleep(for: .milliseconds(20))
    }
    Issue.record("the transports are at \(last), \(apart) ms apart")
    return (apart, .infinity)
  }

  @Test func `two hosts start and locate as one, from either side`() async throws {
    let stage = try await LabStage("--hosts", "2")
    var programs: [ChildProcess] = []
    for host in 1...2 {
      let words = [
        Lab.products + "/tactus", "--no-tui", "--startstop", "--song-sync", "--launch=beat",
        "--drift-correct=locate",
      ]
      programs.append(try ChildProcess(stage.command(on: host, words)))
    }
    func send(_ host: Int, _ words: String...) async throws -> String {
      let command = [Lab.products + "/tactus", "send"] + words
      let done = try await ChildProcess.run(stage.command(on: host, command))
      return done.output + done.errors
    }
    let transports = try (1...2).map { try LabPeer(.jack, in: stage, on: $0) }
    for host in 1...2 {
      var peers = ""
      for _ in 0..<100 where !peers.contains("1") {
        peers = try await send(host, "peers")
        try await Task.sleep(for: .milliseconds(200))
      }
      #expect(peers.contains("1"), "\(peers)")
    }
    var standing: [Double] = [], rolling: [Double] = [], times: [Double] = []
    for turn in 0..<20 {
      let beat = Double((turn * 7) % 32) + 0.5
      try await transports[turn % 2].ask("locate \(Int(beat * Self.beatFrames))")
      let found = try await agree(transports, near: beat)
      standing.append(found.apart)
      times.append(found.after)
    }
    for turn in 0..<4 {
      try await transports[turn % 2].ask("play")
      for transport in transports { try await transport.wait("playing", "true") }
      rolling.append(try await agree(transports).apart)
      for locate in 0..<6 {
        let place = "\((locate * 11) % 40 + 60 * (locate % 2))"
        if locate % 3 == 2 {
          try await transports[locate % 2].ask("locate \(Int(place)! * Int(Self.beatFrames))")
        } else {
          _ = try await send(locate % 2 + 1, "locate", place)
        }
        try await Task.sleep(for: .seconds(2))
        rolling.append(try await agree(transports).apart)
      }
      try await transports[(turn + 1) % 2].ask("stop")
      for transport in transports { try await transport.wait("playing", "false") }
      try await Task.sleep(for: .milliseconds(800))
      standing.append(try await agree(transports).apart)
    }
    let report =
      "song sync: standing \(standing.max() ?? 0) ms apart at most; rolling \(rolling.sorted()) ms;"
      + " a locate is followed after \(times.sorted()[times.count / 2]) ms"
    print(report)
    #expect((standing.max() ?? 9) < 0.1, "\(report)")
    for program in programs {
      program.signal(SIGTERM)
      #expect(await program.status() == 0)
    }
  }
}
