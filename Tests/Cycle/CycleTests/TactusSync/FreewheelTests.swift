// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import Testing

@testable import TactusSync

/// An export (a freewheel), in which the server runs as fast as it can. The server's time means nothing, and
/// the session is not changed.
struct FreewheelTests {
  /// Expects that from `start` on a click is heard for each beat of the session, and no other click.
  private func expectEveryBeat(_ studio: Studio, from start: Double, _ clicks: [Studio.Onset]) {
    let grid = Grid(studio.timeline)
    let first = Int(grid.beat(at: start).rounded(.up)), last = Int(grid.beat(at: studio.due - 10_000))
    let beats = clicks.filter { $0.heard < studio.due - 10_000 }.map { grid.beat(at: $0.heard) }
    #expect(beats.map { Int($0.rounded()) } == Array(first...last))
    #expect(beats.allSatisfy { abs($0 - $0.rounded()) * grid.beatMicros < 500 })
  }

  private func export(_ studio: Studio, seconds: Double) {
    studio.isFreewheeling = true
    studio.play(seconds: seconds)
    studio.isFreewheeling = false
  }

  @Test(arguments: [0.1, 0.3, 0.49, 1, 7.3, 60])
  func `after an export every beat has its click`(seconds: Double) {
    for tempo in [120, 97, 301] as [Double] {
      let studio = Studio(tempo: tempo)
      studio.play(seconds: 2.1)
      export(studio, seconds: seconds)
      let before = studio.clicks.count
      studio.play(256)
      let start = studio.due
      studio.play(seconds: 4)
      expectEveryBeat(studio, from: start - 6_000, Array(studio.clicks.dropFirst(before)))
    }
  }

  @Test(arguments: [0.3, 7.3, 60])
  func `a song that ended during an export is silent after the export`(seconds: Double) {
    let studio = Studio(tempo: 120)
    studio.listensToPulse = true
    studio.settings.click.isOn = true
    studio.settings.click.when = .rolling
    studio.play(seconds: 1)
    studio.isFreewheeling = true
    studio.transport = Transport(state: .rolling, frame: 0)
    studio.play(seconds: seconds)
    studio.transport.state = .stopped
    studio.play(seconds: 0.1)
    studio.isFreewheeling = false
    let (clicks, edges) = (studio.clicks.count, studio.runEdges.count)
    studio.play(seconds: 3)
    #expect(studio.clicks.count == clicks && studio.runEdges.count == edges)
    #expect(studio.runEdges.last?.value == 0)
  }

  @Test func `a song that rolls on after an export has its clicks at once`() {
    let studio = Studio(tempo: 120)
    studio.listensToPulse = true
    studio.settings.click.isOn = true
    studio.settings.click.when = .rolling
    studio.play(seconds: 1.3)
    studio.transport.state = .rolling
    studio.play(seconds: 2)
    export(studio, seconds: 60)
    let before = studio.clicks.count
    studio.play(256)
    let start = studio.due
    studio.play(seconds: 4)
    expectEveryBeat(studio, from: start - 6_000, Array(studio.clicks.dropFirst(before)))
    #expect(studio.runEdges.map(\.value) == [1])
  }

  /// An export follows the song's frames. Latencies and offsets matter only to ears, and JACK changes
  /// latencies in the middle of an export.
  @Test(arguments: [0, 512, 4096] as [UInt32])
  func `an exported click is at the song's beat`(latency: UInt32) {
    let studio = Studio(tempo: 125)
    studio.settings.click.isOn = true
    studio.settings.click.when = .rolling
    studio.settings.offsets[.click1] = Micros(7_000)
    studio.latencies[.jack] = 512
    studio.latencies[.click1] = latency
    studio.play(seconds: 1)
    studio.isFreewheeling = true
    studio.transport = Transport(state: .rolling, frame: 0)
    let first = studio.frame
    studio.play(seconds: 2)
    studio.latencies[.click1] = 0
    studio.latencies[.jack] = 2048
    studio.play(seconds: 2)
    #expect(studio.clicks.map { $0.frame - first } == (0...8).map { $0 * 23_040 })
  }

  /// An export has no other clock than its own frames. Its bar 1 is where the song begins, whatever the phase
  /// of the session.
  @Test(arguments: [0, 100_001, 4_294_900_000] as [UInt32], [0.0, 0.37, 0.5, 0.81])
  func `an export counts its beats by its own frames`(frame: UInt32, phase: Double) {
    let studio = Studio(tempo: 120)
    studio.isMaster = true
    studio.settings.click.isOn = true
    studio.settings.click.when = .rolling
    studio.play(seconds: 2 + phase / 2)
    studio.transport.frame = frame
    studio.isFreewheeling = true
    for state in [.stopped, .starting, .rolling] as [Transport.State] {
      studio.transport.state = state
      studio.play(256)
      studio.play(256)
    }
    let before = studio.clicks.count
    let (first, start) = (studio.frame, studio.transport.frame)
    for _ in 0..<1000 {
      studio.play(256)
      // The transport's frame has just wrapped, but the beat must be that of the frames since the start.
      let beats = Double(frame) / 24_000 + Double(studio.transport.frame &- 256 &- frame) / 24_000
      let shown = studio.transport.bbt
      let ticks = (shown?.beats ?? -1) - 0.5 / 1920 - beats
      #expect(abs(ticks) < 1.01 / 1920, "frame \(studio.transport.frame): \(ticks * 1920) ticks")
    }
    for click in studio.clicks.dropFirst(before) {
      let away = (Double(frame) + Double(start &- frame) + Double(click.frame - first)) / 24_000
      #expect(abs(away - away.rounded()) * 24_000 <= 1, "a click at beat \(away)")
    }
    #expect((10...11).contains(studio.clicks.count - before))
  }

  @Test func `an export keeps the tempo that it began with`() {
    let studio = Studio(tempo: 120)
    studio.isMaster = true
    studio.transport.state = .rolling
    studio.play(seconds: 1)
    studio.isFreewheeling = true
    studio.play(256)
    studio.setTempo(77)
    for _ in 0..<100 {
      studio.play(256)
      #expect(studio.transport.bbt?.beatsPerMinute == 120 && studio.report.tempo == 120)
    }
    studio.isFreewheeling = false
    studio.play(256)
    studio.play(256)
    #expect(studio.transport.bbt?.beatsPerMinute == 77 && studio.report.tempo == 77)
  }

  @Test func `an export changes nothing in the session`() {
    let studio = Studio(tempo: 120)
    studio.isMaster = true
    studio.settings.syncsStartStop = true
    studio.play(seconds: 1)
    studio.isFreewheeling = true
    for state in [.rolling, .stopped, .rolling] as [Transport.State] {
      studio.transport.state = state
      studio.requests = BBT(song: .zero, meter: Meter(), beatsPerMinute: 91)
      studio.play(seconds: 20)
    }
    studio.setTempo(77)
    studio.play(seconds: 1)
    studio.transport.state = .stopped
    studio.play(seconds: 1)
    studio.isFreewheeling = false
    // Four seconds are longer than the time for which a tempo that was shown counts as an echo.
    studio.play(seconds: 4)
    #expect(studio.told.isEmpty)
    studio.requests = BBT(song: .zero, meter: Meter(), beatsPerMinute: 120)
    studio.play(seconds: 0.1)
    #expect(studio.told.map(\.change) == [.tempo(120)])
  }

  @Test(arguments: [0.3, 7.3, 60])
  func `a start right after an export waits for its bar and no longer`(seconds: Double) {
    let studio = Studio(tempo: 120)
    studio.asksBeforeRolling = true
    studio.play(seconds: 2.1)
    export(studio, seconds: seconds)
    studio.transport = Transport(state: .starting, frame: 0)
    studio.play(256)
    let pressed = studio.due
    while !studio.report.song.isRolling, studio.due - pressed < 5e6 { studio.play(256) }
    #expect(studio.due - pressed < 2.01e6)
    #expect(abs(studio.report.launch.error) < 4_000)
    let phase = Grid(studio.timeline).beat(at: studio.due) / 4
    #expect(abs(phase - phase.rounded()) * 4 < 0.02)
  }

  @Test func `a client that was slow in an export does not delay later starts`() {
    let studio = Studio(tempo: 120)
    studio.asksBeforeRolling = true
    studio.play(seconds: 1)
    studio.isFreewheeling = true
    studio.transport.state = .rolling
    studio.play(seconds: 1)
    studio.locate = 480_000
    studio.play(256)
    studio.asksBeforeRolling = false
    // The start takes nine seconds, because other clients load from the disk.
    studio.play(seconds: 9)
    studio.transport.state = .rolling
    studio.play(seconds: 1)
    studio.transport.state = .stopped
    studio.isFreewheeling = false
    studio.play(seconds: 1)
    #expect(studio.report.launch.othersTake == 0)
  }

  @Test func `after an export a leading host's unchanged tempo changes nothing`() {
    let studio = Studio(tempo: 130)
    studio.settings.lead = .host
    func play(seconds: Double) {
      let end = studio.frame + Int(seconds * 48_000)
      while studio.frame < end {
        studio.transport.bbt = BBT(
          song: Beats(Double(studio.transport.frame) / 24_000), meter: Meter(), beatsPerMinute: 120)
        studio.play(256)
      }
    }
    play(seconds: 2)
    #expect(studio.told.first?.change == .tempo(120))
    // The session's tempo must stay 130, because a peer has chosen it.
    let told = studio.told.count
    studio.isFreewheeling = true
    studio.transport.state = .rolling
    play(seconds: 20)
    studio.transport.state = .stopped
    studio.isFreewheeling = false
    play(seconds: 5)
    #expect(studio.told.count == told)
  }
}
