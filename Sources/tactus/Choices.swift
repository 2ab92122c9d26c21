// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices
import ControlSurface
import HostSync
import JACKHost

// The user's choices in the surface's words, and in the audio cycle's.
extension SurfaceState {
  mutating func choose(_ command: Command) {
    switch command {
    case .quantum(let quantum): self.quantum = quantum
    case .meter(let meter): self.meter = meter
    case .launch(let launch): self.launch = launch
    case .alignment(let alignment): self.alignment = alignment
    case .stopWhen(let moment): stopWhen = moment
    case .correction(let correction): self.correction = correction
    case .correctAbove(let milliseconds): correctAboveMilliseconds = milliseconds
    case .click(.enabled(let on)): click.enabled = on
    case .click(.when(let when)): click.when = when
    case .click(.gain(let gain)): click.gain = gain
    case .click(.sound(let sound)): click.sound = sound
    case .click(.pattern(let pattern)): click.pattern = pattern
    case .click(.subdivision(let count)): click.subdivision = count
    case .click(.countsIn(let on)): click.countsIn = on
    case .click(.offset(let milliseconds)):
      outputs[.click1].offsetMilliseconds = milliseconds
      outputs[.click2].offsetMilliseconds = nil
    case .clock(.enabled(let on)): clock.enabled = on
    case .clock(.whileStopped(let on)): clock.whileStopped = on
    case .clock(.settle(let milliseconds)): clock.settleMilliseconds = milliseconds
    case .pulse(.enabled(let on)): pulse.enabled = on
    case .pulse(.rate(let rate)): pulse.rate = rate
    case .offset(let output, let milliseconds): outputs[output].offsetMilliseconds = milliseconds
    case .start, .stop, .toggle, .rewind, .locate, .record, .rolling, .tempo, .align, .linkEnabled,
      .startStopSync,
      .lead, .timebase, .takeover, .quit:
      break
    }
  }

  /// `base` has what no controller changes.
  func settings(from base: Settings, launch: ControlSurface.Launch) -> Settings {
    var settings = base
    settings.meter = .init(beatsPerBar: Int32(clamping: meter.beats), beatType: Int32(clamping: meter.unit))
    settings.quantum = quantum
    settings.click.isOn = click.enabled
    settings.click.when = click.when == .always ? .always : .rolling
    settings.click.gain = click.gain
    settings.click.subdivision = Int32(clamping: click.subdivision)
    settings.click.pattern = Pattern(click.pattern.letters.utf8) ?? Pattern()
    settings.click.countsIn = click.countsIn
    settings.clock.isOn = clock.enabled
    settings.clock.runsWhileStopped = clock.whileStopped
    settings.clock.settle = micros(clock.settleMilliseconds)
    settings.pulse.isOn = pulse.enabled
    settings.pulse.rate =
      switch pulse.rate {
      case .bar: .bar
      case .one: .one
      case .two: .two
      case .four: .four
      case .twentyFour: .twentyFour
      case .fortyEight: .fortyEight
      }
    settings.offsets.click1 = micros(offsetMilliseconds(.click1))
    settings.offsets.click2 = micros(offsetMilliseconds(.click2))
    settings.offsets.clock = micros(offsetMilliseconds(.clock))
    settings.offsets.pulse = micros(offsetMilliseconds(.pulse))
    settings.offsets.run = micros(offsetMilliseconds(.run))
    settings.offsets.transport = micros(offsetMilliseconds(.jack))
    settings.launch.moment =
      switch launch {
      case .bar: .bar
      case .beat: .beat
      case .now: .now
      }
    settings.launch.alignment =
      switch alignment {
      case .nearest: .nearest
      case .exact: .exact
      }
    settings.lead =
      switch lead {
      case .link: .link
      case .host: .host
      case .auto: .auto
      case .midi: .midi
      }
    settings.syncsStartStop = startStopSync
    settings.records = recording
    return settings
  }

  private func micros(_ milliseconds: Double) -> Micros { Micros(rounding: milliseconds * 1000) }
}

extension Configuration {
  /// What no controller changes, as the audio cycle wants it. The rest goes through the surface's words.
  var fixedSettings: Settings {
    var settings = Settings()
    settings.hostIsTheClock = hostIsTheClock
    return settings
  }

  var standingConnections: [StandingConnection] {
    connections.compactMap { StandingConnection($0) } + (autoconnects ? [.clickToSpeakers] : [])
  }

  /// What the command line chose, as the surface shows it.
  func surfaceState(_ timeline: Timeline) -> SurfaceState {
    var state = SurfaceState(timeline: timeline)
    choose(in: &state)
    return state
  }

  /// Everything that the surface can choose, as it is here.
  func choose(in state: inout SurfaceState) {
    state.quantum = quantum
    state.meter = .init(beats: meter.beats, unit: meter.unit)
    state.startStopSync = syncsStartStop
    state.linkEnabled = isLinkEnabled
    state.lead = ControlSurface.Lead.allCases.first { "\($0)" == lead.rawValue } ?? .link
    state.alignment = ControlSurface.Alignment.allCases.first { "\($0)" == alignment.rawValue } ?? .nearest
    state.stopWhen = ControlSurface.Launch.allCases.first { "\($0)" == stop.rawValue } ?? .now
    state.correction = ControlSurface.Correction.allCases.first { "\($0)" == correction.rawValue } ?? .off
    state.correctAboveMilliseconds = correctAbove
    state.launch = ControlSurface.Launch.allCases.first { "\($0)" == launch.rawValue } ?? .bar
    state.click.enabled = click != .off
    state.click.when = click == .always ? .always : .rolling
    state.click.gain = Float(gain)
    state.click.pattern = ClickPattern(pattern) ?? ClickPattern()
    state.click.subdivision = subdivision
    state.click.countsIn = countsIn
    state.clock.enabled = clock != .off
    state.learned = learned
    state.clock.whileStopped = clock == .always
    state.pulse.enabled = pulse != .off
    state.pulse.rate = ControlSurface.PulseRate.allCases.first { $0.word == pulse.rawValue } ?? .one
    state.outputs[.click1].offsetMilliseconds = offsets.click
    state.outputs[.click2].offsetMilliseconds = offsets.click2
    state.outputs[.clock].offsetMilliseconds = offsets.clock
    state.outputs[.pulse].offsetMilliseconds = offsets.pulse
    state.outputs[.run].offsetMilliseconds = offsets.run
    state.outputs[.jack].offsetMilliseconds = offsets.transport
  }
}

extension SurfaceState {
  /// What the audio cycle reports, and the host.
  mutating func show(_ report: Report, _ host: HostView) {
    jackConnected = host.isRunning
    sampleRate = host.sampleRate
    framesPerCycle = host.framesPerPeriod
    xruns = host.xruns
    for output in Output.allCases {
      outputs[output].latencyMilliseconds = host.milliseconds(host.latency(output))
    }
    // As fine as a musician can use: the last digits never rest, and each change is a message to every tablet.
    driftPartsPerMillion = report.driftPPM.rounded()
    launchErrorMilliseconds = (report.launchError / 10).rounded() / 100
    leadErrorMilliseconds = (report.hostPhaseError / 100).rounded() / 10
    lagMilliseconds = (report.hostLag / 100).rounded() / 10
    lostCycles = Int(clamping: report.lostCycles)
    movedLaunches = Int(clamping: report.movedLaunches)
    corrections = host.corrections
    timebase =
      switch report.timebase {
      case .none: .nobody
      case .ours: .tactus
      case .foreign: .other("another client")
      }
    // Both at the same frame, and the song begins on a beat.
    let origin = Beats((report.sessionBeat - report.songBeat).rounded())
    transport =
      if !host.isRunning {
        .stopped(at: .zero)
      } else if report.isRolling {
        .rolling(origin: origin)
      } else if report.isWaiting {
        .waiting(origin: origin)
      } else {
        .stopped(at: Beats(report.songBeat))
      }
    let isMoving = report.isRolling || report.isWaiting
    if !startStopSync { playing = isMoving }
    leading = leader(report)
    midiClock = clockIn(report)
    status =
      if !host.isRunning {
        "no JACK server"
      } else if host.isStopping {
        "stops on the \(stopWhen == .beat ? "beat" : "bar")"
      } else if report.isRolling {
        "rolling"
      } else if report.isWaiting {
        "starts on the \(launch == .beat ? "beat" : "bar")"
      } else {
        "stopped"
      }
  }
}

extension SurfaceState {
  private func leader(_ report: Report) -> ControlSurface.Lead {
    switch (lead, report.timebase) {
    case (.midi, _): report.clockInState == .locked && !report.isClockInEcho ? .midi : .link
    case (.host, .foreign), (.auto, .foreign): .host
    case (.link, _), (.host, _), (.auto, _): .link
    }
  }

  private func clockIn(_ report: Report) -> MIDIClockIn {
    guard lead == .midi else { return .off }
    if report.isClockInEcho { return .echo }
    return switch report.clockInState {
    case .silent: .silent
    case .acquiring: .acquiring
    case .locked: .locked(Tempo((report.clockInTempo * 10).rounded() / 10))
    case .lost: .lost
    }
  }
}

/// JACK as it is shown to controllers.
struct HostView {
  var isRunning = false
  var sampleRate = 0
  var framesPerPeriod = 0
  var xruns = 0
  var corrections = 0
  /// A stop waits for its moment.
  var isStopping = false
  var latencies: [Output: UInt32] = [:]

  func latency(_ output: Output) -> UInt32 { latencies[output] ?? 0 }

  func milliseconds(_ frames: UInt32) -> Double {
    sampleRate > 0 ? Double(frames) * 1000 / Double(sampleRate) : 0
  }
}

extension HostView {
  init(_ host: JACKHost, xruns: Int) {
    let latencies = host.latencies
    self.init(
      isRunning: host.isRunning, sampleRate: host.server.sampleRate,
      framesPerPeriod: host.server.framesPerPeriod,
      xruns: xruns, corrections: Int(clamping: host.relocator.corrections), isStopping: host.isStopping,
      latencies: [
        .click1: latencies.click1.longest, .click2: latencies.click2.longest, .clock: latencies.clock.longest,
        .pulse: latencies.pulse.longest, .run: latencies.run.longest, .jack: latencies.physical.longest,
      ])
  }
}
