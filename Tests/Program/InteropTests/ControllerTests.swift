// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

/// Compares a controller's messages, in both directions, with the sound. The sound is the click and the clock
/// as a peer with the reference library hears them; the messages have the kernel's time stamps.
@Suite struct ControllerTests {
  private struct Scene {
    let stage: LabStage
    let program: ChildProcess
    let controller: LabPeer
    let transport: LabPeer

    init() async throws {
      stage = try await LabStage()
      program = try ChildProcess(stage.command([Lab.products + "/tactus", "--click"]))
      try await program.awaitLine(beginning: "OSC: ")
      controller = try LabPeer(.controller, in: stage)
      transport = try LabPeer(.jack, in: stage)
    }

    func end() async {
      program.signal(SIGTERM)
      #expect(await program.status() == 0)
    }
  }

  /// The messages at an address, parsed from the controller's text "TIME ARGUMENT...; ...".
  private func told(_ fields: LabPeer.Fields, _ path: String) -> [[Double]] {
    guard case .text(let text)? = fields[path] else { return [] }
    return text.split(separator: ";").map { line in
      line.split(separator: " ").map { Double($0) ?? .nan }
    }
  }

  @Test
  func `OSC's beat messages are right to 2 ms, its timeline messages to 1 ms`()
    async throws
  {
    let scene = try await Scene()
    try await scene.controller.ask("say tempo f 174")
    let ears = try await Ears("tactus:click_1", in: scene.stage)
    try await scene.controller.ask("subscribe beat exact")
    let waits = try #require(ProcessorWaits(of: scene.program.identifier, thread: "osc"))
    // Whether a beat message can be judged: not if the thread that sent the message had to wait for a
    // processor.
    func isOnTime(_ beat: [Double]) -> Bool {
      waits.waited(from: beat[0] - 20_000, to: beat[0]).map { $0 < 300 } ?? false
    }
    let (clicks, beats, misses, lateness) = try await Interop.undisturbed(in: scene.stage) {
      scene.controller.send("told 12")
      let clicks = try await ears.listen(for: .seconds(13))
      let said = try await scene.controller.answer(to: "told", within: .seconds(20))
      let (sure, lines, beats) = (clicks.filter(\.isSure), told(said, "timeline"), told(said, "beat"))
      // Compare each click with the prediction of a message that came at least a second earlier.
      let misses = sure.compactMap { click -> Double? in
        guard let line = lines.last(where: { $0.count == 5 && $0[0] < click.heard - 1e6 }) else { return nil }
        let beats = line[2] + (click.heard - line[3]) * line[1] / 60e6
        return abs(beats - beats.rounded()) * 60_000 / line[1]
      }
      let lateness = beats.filter(isOnTime).compactMap { beat in
        sure.map { (beat[0] - $0.heard) / 1000 }.min { abs($0) < abs($1) }
      }.filter { abs($0) < 100 }
      return (clicks.count, beats.count, misses, lateness)
    } where: { clicks, beats, misses, lateness in
      // Stop when there is enough to judge, or when too little arrives at all.
      misses.count > 15 && lateness.count > 15 || clicks <= 15 || beats <= 15
    }
    #expect(misses.count > 15 && lateness.count > 15, "of \(clicks) clicks and \(beats) messages")
    #expect(Interop.median(misses) < 1, "\(misses)")
    #expect(abs(Interop.median(lateness)) < 2, "\(lateness)")
    print(
      "beat messages \(Interop.median(lateness)) ms after the click, median of \(lateness.count); the exact group "
        + "\(Interop.median(misses)) ms from it, median of \(misses.count)")
    await scene.end()
  }

  @Test func `a controller's command is heard from the next cycle on`() async throws {
    let scene = try await Scene()
    // At 999 BPM a MIDI clock message comes every 2.5 ms, so each cycle of 5.3 ms has two.
    for order in ["tempo f 999", "clock/when s always", "clock i 0"] {
      try await scene.controller.ask("say \(order)")
    }
    let ears = try await Ears("tactus:clock@24", in: scene.stage)
    let latency = try await scene.transport.ask("status")["latency"]?.number ?? .nan
    let apart = 48_000 * 60 / 999 / 24.0
    let waits = try #require(ProcessorWaits(of: scene.program.identifier, thread: "osc"))
    // Whether a command can be judged: not if the thread that reads the command had to wait for a processor.
    func isReadAtOnce(_ order: [Double]) -> Bool {
      waits.waited(from: order[0] - 1000, to: order[0] + 5000).map { $0 < 300 } ?? false
    }
    let (clocks, delays) = try await Interop.undisturbed(in: scene.stage) {
      scene.controller.send("toggle clock 60")
      let clocks = try await ears.listen(for: .seconds(9)).filter { $0.bytes == nil }
      let sent = told(try await scene.controller.answer(to: "toggle", within: .seconds(20)), "sent")
      var delays: [Double] = []
      for (order, next) in zip(sent, sent.dropFirst()) where order[1] == 1 && isReadAtOnce(order) {
        // Find the first clock message at the new offset, and count which message after the cycle boundary it
        // is.
        guard
          let first = clocks.first(where: {
            $0.isSure && $0.heard - latency > order[0] && $0.heard - latency < next[0]
          })
        else { continue }
        let packet = first.frame - (first.heard - latency - order[0]) * 0.048
        let boundary = (packet / 256).rounded(.up) * 256
        delays.append(((first.frame - boundary) / apart).rounded(.down) * apart / 48)
      }
      return (clocks.count, delays)
    } where: { clocks, delays in
      delays.count > 15 || clocks < 1000
    }
    #expect(delays.count > 15, "of \(clocks) clocks")
    // Microseconds are rounded, so a clock message exactly at the boundary may seem to come before the
    // boundary.
    #expect(Interop.median(delays) < 1, "\(delays)")
    print("heard \(Interop.median(delays)) ms after the cycle boundary, median of \(delays.count)")
    await scene.end()
  }

  @Test
  func `a fader changes the tempo at most 20 times a second`()
    async throws
  {
    let scene = try await Scene()
    let peer = try LabPeer(.reference, in: scene.stage)
    try await peer.ask("enable on")
    try await peer.wait("peers", "1")
    for order in ["tempo/range ff 60 180", "tempo f 90"] { try await scene.controller.ask("say \(order)") }
    let watcher = try LabPeer(.controller, in: scene.stage)
    try await watcher.ask("subscribe exact")
    let ears = try await Ears("tactus:click_1", in: scene.stage)
    watcher.send("told 6")
    try await scene.controller.ask("fade 0.25 0.625 200 4")
    let lines = told(try await watcher.answer(to: "told", within: .seconds(20)), "timeline")
    let changes = zip(lines, lines.dropFirst()).filter { $0[1] != $1[1] }.map { $1[0] }
    // Count over 0.95 s, which is less than a second, because a message that was sent in time may arrive
    // late.
    let busiest = changes.map { first in changes.count { $0 >= first && $0 < first + 0.95e6 } }.max() ?? 0
    #expect(busiest <= 20 && changes.count > 20, "\(changes.count) changes, \(busiest) in a second")
    try await peer.wait("tempo", "135")
    let clicks = try await ears.listen(forIntervals: 9)
    #expect(abs(clicks.interval - 60_000 / 135) < 0.5, "\(clicks.interval)")
    #expect(abs(clicks.lateness) < 1, "\(clicks.map(\.late))")
    print(
      "801 faders: \(changes.count) tempos, \(busiest) in the busiest second, then a click each \(clicks.interval) ms"
    )
    await scene.end()
  }
}
