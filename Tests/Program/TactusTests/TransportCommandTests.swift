// SPDX-License-Identifier: GPL-2.0-or-later
import Link
import LinkBeatMath
import TactusChoices
import TactusSurface
import TactusSync
import Testing

@testable import TactusApp

@Suite("Requests of the surface to JACK's transport")
struct TransportCommandTests {
  @Test(
    arguments: [
      (.beat(0), 0), (.bar(44_740), 4_294_944_000), (.bar(44_741), nil), (.bar(1_000_000), nil),
      (.beat(178_956), 4_294_944_000), (.beat(200_000), nil), (.seconds(86_400), 4_147_200_000),
      (.beat(178_956.97), 4_294_967_280), (.beat(178_956.971), nil),
    ] as [(Place, UInt32?)])
  func `a locate beyond JACK's last frame is refused`(place: Place, frame: UInt32?) {
    let state = SurfaceState()
    #expect(state.frame(of: place, sampleRate: 48_000) == frame)
    #expect((state.command(toGoTo: place, Report(), sampleRate: 48_000) == nil) == (frame == nil))
  }

  @Test func `without a JACK server, a start still waits for its bar or beat`() {
    for (step, beat) in [(4.0, 4.0), (1, 3), (0, 2.3)] {
      var state = SessionState(
        timeline: Timeline(tempo: Tempo(120), beatOrigin: .zero, timeOrigin: .zero),
        startStop: ClientStartStop(isPlaying: false, time: .zero, timestamp: .zero), isConnected: false)
      state.play(true, on: step, at: Micros(1_150_000))
      #expect(state.isPlaying && state.timeOfPlaying == Micros(rounding: beat * 500_000), "\(step)")
      // A start in the microsecond of a bar or beat begins at once.
      var exact = state
      exact.setPlaying(false, at: .zero)
      exact.play(true, on: step, at: Micros(4_000_000))
      #expect(exact.isPlaying && exact.timeOfPlaying == Micros(4_000_000), "\(step)")
      // While a start waits, another start does not change its time, and a stop acts at once.
      state.play(true, on: step, at: Micros(1_200_000))
      #expect(state.timeOfPlaying == Micros(rounding: beat * 500_000))
      state.play(false, on: step, at: Micros(1_250_000))
      #expect(!state.isPlaying && state.timeOfPlaying == Micros(1_250_000))
    }
  }

  @Test
  func `a locate counts the timebase master's beats, of any note value`() {
    let seven = Meter(beatsPerBar: 7, beatType: 8)
    for shown in [120.0, 240] {
      var report = Report()
      report.master.timebase = .foreign
      var bbt = BBT(song: Beats(3.5), meter: seven, beatsPerMinute: 120)
      bbt.beatsPerMinute = shown
      (report.master.shown, report.master.foreignTempo, report.moment.frame) = (bbt, 120, 84_000)
      let state = SurfaceState()
      for (place, frame) in [(.bar(3), 168_000), (.beat(14), 336_000), (.bar(1), 0), (.seconds(2), 96_000)]
        as [(Place, UInt32)]
      {
        guard case .locate(let there)? = state.command(toGoTo: place, report, sampleRate: 48_000) else {
          Issue.record("no locate to \(place)")
          continue
        }
        // The tolerance is half a tick.
        #expect(abs(Int(there) - Int(frame)) <= 7, "\(place): \(there)")
      }
      // The timebase master's tempo may count quarters or other notes. While this is not known, the session's
      // tempo is used.
      report.master.foreignTempo = 0
      guard case .jump(168_000, let beat, _)? = state.command(toGoTo: .beat(7), report, sampleRate: 48_000)
      else {
        Issue.record("no jump")
        continue
      }
      #expect(beat == 7)
    }
  }

  /// A report at 120 beats a minute, in which beat 8 is 4 s after beat 0.
  private func report(beat: Double, waitsFor start: Double? = nil, rolls: Bool = false) -> Report {
    var report = Report()
    (report.sessionBeat, report.moment.beatMicros) = (beat, 500_000)
    report.moment.heard.start = 10_000_000 + beat * 500_000
    (report.song.isWaiting, report.song.isRolling) = (start != nil, rolls)
    report.song.startBeat = start ?? .infinity
    return report
  }

  @Test(arguments: [false, true])
  func `peers get the new time of a start that a slow JACK client delays`(isStale: Bool) {
    let link = Link(tempo: 120)
    link.isStartStopSyncEnabled = true
    let orders = TransportCommands()
    var announcement = StartAnnouncement()
    func told() -> Micros? {
      let state = link.captureAppState()
      return state.isPlaying ? state.startStop.time : nil
    }
    orders.tell(&announcement, of: 8, report(beat: 6), in: link)
    #expect(told() == Micros(14_000_000))
    // JACK has got the request for the start, but shows the start only in its next cycle.
    if isStale { orders.tell(&announcement, of: nil, report(beat: 7.8), in: link) }
    orders.tell(&announcement, of: nil, report(beat: 7.9, waitsFor: 8), in: link)
    #expect(told() == Micros(14_000_000))
    orders.tell(&announcement, of: nil, report(beat: 8.1, waitsFor: 12), in: link)
    #expect(told() == Micros(16_000_000))
    orders.tell(&announcement, of: nil, report(beat: 12.1, waitsFor: 16), in: link)
    #expect(told() == Micros(18_000_000))
    orders.tell(&announcement, of: nil, report(beat: 16.1, rolls: true), in: link)
    #expect(told() == Micros(18_000_000))
  }

  @Test func `a start that a peer announced keeps its time, even if it is late here`() {
    let link = Link(tempo: 120)
    link.isStartStopSyncEnabled = true
    link.updateAppState { $0.setPlaying(true, at: Micros(14_000_000)) }
    let orders = TransportCommands()
    var announcement = StartAnnouncement()
    orders.tell(&announcement, of: 8, report(beat: 6), in: link)
    orders.tell(&announcement, of: nil, report(beat: 8.1, waitsFor: 12), in: link)
    #expect(link.captureAppState().startStop.time == Micros(14_000_000))
  }

  @Test func `after a cancelled start, peers learn of the next start`() {
    let link = Link(tempo: 120)
    link.isStartStopSyncEnabled = true
    let orders = TransportCommands()
    var announcement = StartAnnouncement()
    orders.tell(&announcement, of: 8, report(beat: 6), in: link)
    link.updateAppState { $0.setPlaying(false, at: Micros(13_200_000)) }
    for beat in [6.5, 6.6] { orders.tell(&announcement, of: nil, report(beat: beat), in: link) }
    orders.tell(&announcement, of: 12, report(beat: 7), in: link)
    #expect(link.captureAppState().startStop.time == Micros(16_000_000))
    #expect(link.captureAppState().isPlaying)
  }

  private typealias Seen = (transport: SurfaceState.Transport, milliseconds: Int64, lasts: Bool)
  private static let (stands, waits, rolls) = (
    SurfaceState.Transport.stopped(at: .zero), SurfaceState.Transport.waiting(origin: .zero),
    SurfaceState.Transport.rolling(origin: .zero)
  )

  /// Before the new start, the transport may still show an earlier start that waits, or a song that stops.
  @Test(
    arguments: [
      [(stands, 5, true), (rolls, 20, true), (rolls, 110, false)],
      [(waits, 5, true), (stands, 12, true), (waits, 30, true), (waits, 150, true), (stands, 160, false)],
      [(rolls, 5, true), (stands, 40, true), (waits, 60, true), (waits, 900, true), (rolls, 1_500, false)],
      [(waits, 5, true), (stands, 99, true), (stands, 999, true), (stands, 1_000, false)],
      [(stands, 999, true), (waits, 1_000, true), (waits, 60_000, true), (rolls, 60_010, false)],
    ] as [[Seen]])
  private func `a start's own launch moment is shown until the start is over`(seen: [Seen]) {
    var launch = AskedLaunch(.now, at: Micros(7_000_000))
    for (transport, milliseconds, lasts) in seen {
      launch.poll(at: transport, Micros(7_000_000 + milliseconds * 1_000))
      #expect(launch.isOver != lasts, "\(transport) after \(milliseconds) ms")
    }
  }

  @Test
  func `a new meter is shown before the audio thread has seen it`() {
    var state = SurfaceState()
    var report = Report()
    var host = HostView()
    host.jack.isRunning = true
    (report.song.isRolling, report.song.beat, report.sessionBeat) = (true, 5.3, 9.3)
    state.show(report, host)
    state.choose(at: state.time(atSessionBeats: Beats(9.3))) { $0.choices.meter = Meter(beatsPerBar: 3) }
    let soon = state.bars
    #expect(soon.first == 8 * ThirtySeconds.perBeat && soon.meter(at: 0).beats == 4 && soon.meter.beats == 3)
    state.show(report, host)
    #expect(state.bars == soon)
  }

  /// A controller's lamps go out at a stop. They must not flicker at a locate, and the page's start button
  /// must not change.
  @Test
  func `a locate while rolling is not shown as a stop`() {
    var state = SurfaceState()
    var report = Report()
    var host = HostView()
    host.jack.isRunning = true
    (report.song.isRolling, report.song.beat, report.sessionBeat) = (true, 5.25, 9.25)
    state.show(report, host)
    let rolling = state.transport
    (report.song.isRolling, report.isBetweenPlaces, report.song.beat) = (false, true, 40)
    state.show(report, host)
    #expect(state.transport == rolling && state.status == "rolling" && state.link.isPlaying)
    (report.song.isRolling, report.isBetweenPlaces, report.sessionBeat) = (true, false, 10)
    state.show(report, host)
    #expect(state.transport == .rolling(origin: Beats(-30)))
    (report.song.isRolling, report.song.beat) = (false, 41)
    state.show(report, host)
    #expect(state.transport == .stopped(at: Beats(41)) && state.status == "stopped" && !state.link.isPlaying)
  }

  @Test
  func `a stop that waits for its bar is shown as waiting until JACK stops`() {
    var state = SurfaceState()
    var report = Report()
    var host = HostView()
    host.jack.isRunning = true
    report.song.isRolling = true
    // A stop that does not wait for a bar is not shown as waiting.
    host.isAskedToStop = true
    state.show(report, host)
    #expect(state.doing == .rolling)
    (host.isStopping, host.isAskedToStop) = (true, false)
    state.show(report, host)
    // JACK was asked to stop, and rolls for another cycle.
    (host.isStopping, host.isAskedToStop) = (false, true)
    state.show(report, host)
    #expect(state.doing == .stopping)
    (report.song.isRolling, host.isAskedToStop) = (false, false)
    state.show(report, host)
    #expect(state.doing == .stopped)
  }

  @Test
  func `a clock drift that rounds to zero is shown as 0, not as -0`() {
    var state = SurfaceState()
    var report = Report()
    report.times.driftPPM = -0.3
    state.show(report, HostView())
    #expect(state.readings.driftPartsPerMillion.sign == .plus)
  }

  @Test
  func `at 192 kHz a locate to 24 hours, beyond JACK's last frame, is refused`() {
    #expect(SurfaceState().frame(of: .seconds(86_400), sampleRate: 192_000) == nil)
  }
}
