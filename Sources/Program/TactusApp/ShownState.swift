// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import ControlSurface
import HostSync
import JACKHost
import TactusChoices

extension Configuration {
  var standingConnections: [StandingConnection] {
    connections.compactMap { StandingConnection($0) } + (autoconnects ? [.clickToSpeakers] : [])
  }

  /// This configuration with the choices made since the start: a start with it leads to the present state.
  func taking(_ state: SurfaceState) -> Configuration {
    var new = self
    new.choices = state.choices
    new.tempo = (state.chosenTempo ?? state.tempo).clamped.shortest
    new.learned = state.learned
    new.sends = state.sends
    new.receives = state.receives
    new.far.calls = state.calls
    new.outputs = state.outputs.map(\.text)
    new.songs = state.songs.map(\.text)
    return new
  }

  /// Sets all that the surface can choose to this configuration's values. A bend stays unchanged.
  func choose(in state: inout SurfaceState) {
    let bend = state.choices.bend
    state.choices = choices
    state.choices.bend = bend
    state.learned = learned
    state.sends = sends
    state.receives = receives
    state.calls = far.calls
    state.outputs = ownOutputs(as: state.outputs)
    state.songs = setList
  }
}

extension SurfaceState {
  /// Takes over the audio cycle's report and the state of JACK.
  mutating func show(_ report: Report, _ host: HostView) {
    jackConnected = host.isRunning
    clientName = host.clientName
    sampleRate = host.sampleRate
    framesPerCycle = host.framesPerPeriod
    xruns = host.xruns
    refusedLatencies = host.refusedLatencies
    (sinks, sinkState) = (host.sinks, host.sinkState)
    latencyMilliseconds = host.latencyMilliseconds
    isClickConnected = host.isClickConnected
    outputHealth = host.outputHealth
    // Round to what a musician can use: further digits change all the time, and each change is a message to
    // every tablet. Adding 0 turns -0 into 0.
    driftPartsPerMillion = report.driftPPM.rounded() + 0
    launchErrorMilliseconds = (report.launchError / 10).rounded() / 100
    // A launch error of exactly 0 means that there was no launch yet: no real launch is exact to the last
    // bit.
    if report.launchError != 0 { hasLaunched = true }
    leadErrorMilliseconds = (report.hostPhaseError / 100).rounded() / 10
    lagMilliseconds = (report.hostLag / 100).rounded() / 10
    aheadMilliseconds = (report.ahead / 100).rounded() / 10 + 0
    jitterMicros[.clock] = OutputHealth.shown(jitter: report.clockJitter)
    jitterMicros[.pulse] = OutputHealth.shown(jitter: report.pulseJitter)
    lostCycles = Int(clamping: report.lostCycles)
    movedLaunches = Int(clamping: report.movedLaunches)
    corrections = host.corrections
    timebase =
      switch report.timebase {
      case .none: .nobody
      case .ours: .tactus
      case .foreign: .other(host.probableMaster.map { "\($0) (probably)" } ?? "another client")
      }
    leavesTimebase = report.timebase == .ours && !host.wantsTimebase
    // Both beats belong to the same frame. A song begins on a thirty-second note of the session, so round to
    // a thirty-second note.
    let origin = Beats(
      ThirtySeconds.beats(ThirtySeconds.nearest(to: report.sessionBeat - report.songBeat, grain: 1)))
    transport =
      if !host.isRunning {
        .stopped(at: .zero)
      } else if report.isRolling {
        .rolling(origin: origin)
      } else if report.isWaiting {
        .waiting(origin: origin)
      } else if report.isBetweenPlaces {
        // During a locate, keep the old state: a locate is no stop.
        transport
      } else if let start = host.startBeat {
        .waiting(origin: Beats(start - report.songBeat))
      } else {
        .stopped(at: Beats(report.songBeat))
      }
    // Round: a place that varies by tiny amounts would be sent to all controllers in each cycle.
    if report.isWaiting, report.startBeat.isFinite {
      startPlace = Beats(rounded(report.songBeat + report.startBeat - report.sessionBeat))
    } else if !report.isMoving {
      startPlace = Beats(rounded(report.songBeat))
    }
    var bars = report.bars
    // The report's meter may be older than the user's last choice.
    bars.change(to: choices.meter, at: report.songBeat)
    changedBars = report.isRolling && bars != Bars(choices.meter) ? bars : nil
    if !choices.syncsStartStop { playing = report.isMoving || host.startBeat != nil }
    leading = leader(report)
    midiClock = clockIn(report)
    doing =
      if !host.isRunning {
        .none
      } else if host.isStopping {
        .stopping
      } else if report.isUnderWay {
        .rolling
      } else if report.isGivenUp {
        .starting
      } else if report.isWaiting || host.startBeat != nil {
        .waiting
      } else {
        .stopped
      }
  }
}

/// Rounds to a thousandth of a beat.
private func rounded(_ beats: Double) -> Double { (beats * 1000).rounded() / 1000 }

extension SurfaceState {
  private func leader(_ report: Report) -> Lead {
    switch (choices.lead, report.timebase) {
    case (.midi, _): report.clockInState == .locked && !report.isClockInEcho ? .midi : .link
    case (.host, .foreign), (.auto, .foreign): .host
    case (.link, _), (.host, _), (.auto, _): .link
    }
  }

  private func clockIn(_ report: Report) -> MIDIClockIn {
    guard choices.lead == .midi else { return .off }
    if report.isClockInEcho { return .echo }
    return switch report.clockInState {
    case .silent: .silent
    case .acquiring: .acquiring
    case .locked: .locked(Tempo((report.clockInTempo * 10).rounded() / 10))
    case .lost: .lost
    }
  }
}

/// The part of JACK's state that controllers see.
struct HostView {
  var isRunning = false
  var clientName = ""
  var sampleRate = 0
  var framesPerPeriod = 0
  var xruns = 0
  var refusedLatencies = 0
  var sinks = ""
  var sinkState = SurfaceState.SinkState.none
  var corrections = 0
  var probableMaster: String?
  var wantsTimebase = true
  /// Whether a stop waits for its beat or bar.
  var isStopping = false
  /// The session's beat for which a start waits while JACK's transport is stopped.
  var startBeat: Double?
  var latencyMilliseconds = PerPort(repeating: 0.0)
  var isClickConnected = false
  var outputHealth: [String: OutputHealth] = [:]
}

extension HostView {
  init(_ host: JACKHost, _ exchange: AudioExchange) {
    let rate = host.server.sampleRate
    var milliseconds = PerPort(repeating: 0.0)
    for port in Port.all where rate > 0 {
      milliseconds[port] = Double(host.latencies[port]) * 1000 / Double(rate)
    }
    self.init(
      isRunning: host.isRunning, clientName: host.server.clientName, sampleRate: rate,
      framesPerPeriod: host.server.framesPerPeriod, xruns: exchange.xrunCount,
      refusedLatencies: exchange.refusedLatencyCount, sinks: host.isRunning ? host.sinks.words : "none",
      sinkState: host.isRunning ? host.sinks.state : .none,
      corrections: Int(clamping: host.plan.corrections), probableMaster: host.probableMaster,
      wantsTimebase: host.wantsTimebase,
      isStopping: host.plan.isStopping, startBeat: host.plan.startBeat,
      latencyMilliseconds: milliseconds, isClickConnected: host.isClickConnected ?? false,
      outputHealth: OutputHealth.all(on: host))
  }
}

extension CommandHandler {
  /// [control]
  func show(_ report: Report, _ host: HostView, peers: String = "") {
    tell {
      $0.show(report, host)
      $0.peerList = peers
    }
  }
}
