// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

private let hasPlayer = access("/usr/bin/xjadeo", X_OK) == 0

/// A video player that follows our timecode: xjadeo. The test asks it for the frame that it shows.
@Suite(.enabled(if: hasPlayer, "needs xjadeo, which tools/lab prepare installs")) struct VideoTests {
  enum Timecode: String, CaseIterable {
    case ltc, mtc
  }

  /// Makes a film of four minutes at 25 frames a second. Each frame is a small grey picture, so that seeking
  /// is instant.
  private static func film(in folder: ScratchFolder) throws -> String {
    var film = Array("YUV4MPEG2 W16 H16 F25:1 Ip A1:1 C420jpeg\n".utf8)
    for frame in 0..<6000 {
      film += "FRAME\n".utf8
      film += repeatElement(UInt8(truncatingIfNeeded: frame), count: 256)
      film += repeatElement(128, count: 128)
    }
    return try folder.write(film, to: "film.y4m")
  }

  @Test(arguments: Timecode.allCases)
  func `a video follows our timecode through locates and tempo changes`(timecode: Timecode) async throws {
    let stage = try await LabStage()
    let folder = try ScratchFolder()
    let film = try Self.film(in: folder)
    let program = try ChildProcess(
      stage.command([
        Lab.products + "/tactus", "--launch=now", "--out=video=\(timecode) fps=25",
        "--connect=out/video=xjadeo:*",
      ]))
    try await program.awaitLine(beginning: "OSC: ")
    let source = timecode == .ltc ? ["-l"] : ["-d", "jack", "-m", ""]
    let player = try ChildProcess(
      stage.command([Lab.tool, "screen", "xjadeo", "-S", "-R"] + source + [film]))
    let transport = try LabPeer(.jack, in: stage)
    let cables = try await stage.cables(of: "tactus:video") { $0.contains { $0.hasPrefix("xjadeo:") } }
    #expect(!cables.isEmpty)
    func shown() async throws -> Double {
      player.send("get position")
      while let line = try await player.line(within: .seconds(20)) {
        if let word = line.split(separator: "=").last, line.hasPrefix("@201 position"),
          let frame = Double(word)
        {
          return frame
        }
      }
      throw ChildProcess.Failure.ended(status: await player.status(), errors: player.saidOnErrors)
    }
    func place() async throws -> Double {
      (try await transport.ask("status")["frame"]?.number ?? .nan) / 1920
    }
    /// How many frames of the film the picture is behind the transport, as the median of many readings.
    func behind() async throws -> Double {
      var found: [Double] = []
      for _ in 0..<25 {
        let before = try await place()
        let picture = try await shown()
        found.append((before + (try await place())) / 2 - picture)
        try await Task.sleep(for: .milliseconds(37))
      }
      return Interop.median(found)
    }
    /// Waits until the picture is near the transport, for at most ten seconds.
    func arrive() async throws {
      let deadline = ContinuousClock.now + .seconds(10)
      while abs(try await place() - (try await shown())) > 5, ContinuousClock.now < deadline {
        try await Task.sleep(for: .milliseconds(50))
      }
    }
    try await transport.ask("play")
    try await transport.wait("playing", "true")
    // The steps are a change of tempo, a jump forward, a jump back, and another tempo.
    for step in ["", "tempo 60", "locate 4800000", "locate 961000", "tempo 187"] {
      if step.hasPrefix("tempo") {
        let set = try await stage.run(
          Lab.products + "/tactus", "send", "tempo", String(step.dropFirst(6)))
        #expect(set.status == 0, "\(set.errors)")
      } else if !step.isEmpty {
        try await transport.ask(step)
      }
      try await arrive()
      let behind = try await behind()
      print("xjadeo on \(timecode)\(step.isEmpty ? "" : ", after \(step)"): \(behind) frames behind")
      #expect((-1...3).contains(behind), "\(step): \(behind)")
    }
    try await transport.ask("stop")
    try await transport.wait("playing", "false")
    if timecode == .mtc {
      // While the transport is stopped, MTC sends one message with the transport's position, and
      // LTC is silent.
      for frame in [1_920_000.0, 480_000, 3_000_960] {
        try await transport.ask("locate \(Int(frame))")
        try await arrive()
        try await Task.sleep(for: .milliseconds(300))
        print("xjadeo on mtc, located to \(frame / 1920): \(try await shown())")
        #expect(try await shown() == frame / 1920)
      }
    }
    player.send("quit")
    program.signal(SIGTERM)
    #expect(await program.status() == 0)
  }
}
