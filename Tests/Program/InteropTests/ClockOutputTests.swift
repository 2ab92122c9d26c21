// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

/// Several MIDI clocks on a real server, as the machines at their ports receive them. `OwnOutputTests` of
/// HostSync compares each clock with its grid for every tempo and buffer.
@Suite struct ClockOutputTests {
  /// The clocks' offsets in milliseconds. Each is a whole number of frames at 48 kHz.
  private static let offsets: [Double] = [0, 4, -7, 12.5, 30, -30, 0.5, 21]
  private static let armed = 5
  private static let names = offsets.indices.map { "clock-\($0)" }

  @Test
  func
    `eight clocks share a grid, and an armed one starts alone on the bar`()
    async throws
  {
    let stage = try await LabStage()
    let outputs = zip(Self.names, Self.offsets).map { "--out=\($0)=clock offset=\($1) when=always" }
    let tactus = Lab.products + "/tactus"
    let program = try ChildProcess(stage.command([tactus] + outputs))
    try await program.awaitLine(beginning: "OSC: ")
    let ears = try await Ears(Self.names.map { "tactus:" + $0 }, offsets: Self.offsets, in: stage)
    let play = [tactus, "send", "out/\(Self.names[Self.armed])/play"]
    let heard = try await Interop.undisturbed(in: stage) {
      #expect(try await ChildProcess.run(stage.command(play + ["0"])).status == 0)
      for command in ["halt", "locate 0", "tempo 120"] { ears.say(command) }
      try await Task.sleep(for: .seconds(1))
      for command in ["section now", "roll"] { ears.say(command) }
      try await Task.sleep(for: .seconds(3))
      #expect(try await ChildProcess.run(stage.command(play + ["1"])).status == 0)
      try await Task.sleep(for: .seconds(3))
      ears.say("tempo 150 half")
      try await Task.sleep(for: .seconds(3))
      return try await ears.report()
    } where: {
      $0.count { $0.bytes == nil && $0.isSure } > 8 * 24 * 10
    }
    let ports = Self.names.map { name in heard.filter { $0.port == "tactus:" + name } }
    let bar = try firstClock(ports[0]).beat
    for (place, events) in ports.enumerated() {
      #expect(events.compactMap(\.bytes) == ["fa"], "\(Self.names[place])")
      let first = try firstClock(events)
      let bars = (first.beat - bar) / 4
      // The tolerance is half a millisecond: the exact times of the clocks are judged below.
      #expect(
        abs(bars - bars.rounded()) < 0.00025 && (place == Self.armed) == (bars > 0.5), "\(bars) bars later")
      let apart = apart(events, ports[0], by: Self.offsets[place])
      #expect(
        apart.count > 200 && Interop.median(apart) <= 1, "\(Self.names[place]): \(apart.max() ?? .nan) frames"
      )
    }
    // A removed output sends Stop first, and the other outputs keep playing.
    let lost = try await Interop.lostCycles(in: stage)
    ears.say("section now")
    let remove = [tactus, "send", "out/remove", Self.names[7]]
    #expect(try await ChildProcess.run(stage.command(remove)).status == 0)
    try await Task.sleep(for: .seconds(1))
    let told = try await ears.report().filter { $0.bytes != nil }
    // A message does not arrive if its cycle is lost.
    let hasLost = try await Interop.lostCycles(in: stage) != lost
    if told.isEmpty, hasLost || !ears.isWhole {
      notJudged("\(#function): whether a removed output sends Stop")
    } else {
      #expect(told.map(\.port) == ["tactus:" + Self.names[7]] && told.map(\.bytes) == ["fc"], "\(told)")
    }
    // All outputs send Stop when tactus ends.
    ears.say("section now")
    program.signal(SIGTERM)
    #expect(await program.status() == 0)
    let ends = try await ears.report().filter { $0.bytes != nil }
    guard ends.count == 7 || ears.isWhole else {
      return notJudged("\(#function): whether all outputs send Stop at the end")
    }
    #expect(Set(ends.map(\.port)) == Set(Self.names.dropLast().map { "tactus:" + $0 }), "\(ends)")
    #expect(ends.count == 7 && ends.allSatisfy { $0.bytes == "fc" }, "\(ends)")
  }

  private func firstClock(_ events: [Ears.Event]) throws -> Ears.Event {
    let start = try #require(events.first { $0.bytes == "fa" })
    return try #require(events.first { $0.bytes == nil && $0.frame > start.frame })
  }

  /// How many frames each clock, corrected by its offset, is from the first output's clock for the same 24th
  /// of a beat.
  private func apart(_ events: [Ears.Event], _ others: [Ears.Event], by offset: Double) -> [Double] {
    var frames: [Int: Double] = [:]
    for event in others where event.bytes == nil && event.isSure {
      frames[Int((event.beat * 24).rounded())] = event.frame
    }
    return events.compactMap { event in
      guard event.bytes == nil, event.isSure, let other = frames[Int((event.beat * 24).rounded())] else {
        return nil
      }
      return abs(event.frame + offset * 48 - other)
    }
  }
}
