// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusJACK
import TactusSurface
import TactusSync

extension Configuration {
  var standingConnections: [StandingConnection] {
    connections.compactMap { StandingConnection($0) } + (autoconnects ? [.clickToSpeakers] : [])
  }

  /// This configuration with the choices made since the start: a start with it leads to the present state.
  func taking(_ state: SurfaceState) -> Configuration {
    var new = self
    new.choices = state.choices
    new.tempo = (state.chosenTempo ?? state.tempo).clamped.shortest
    new.learned = state.lists.learned
    new.sends = state.lists.sends
    new.receives = state.lists.receives
    new.far.calls = state.lists.calls
    new.outputs = state.lists.outputs.map(\.text)
    new.songs = state.lists.songs.map(\.text)
    return new
  }

  /// Sets all choices of `state` to this configuration's values, except the bend, which stays unchanged.
  func choose(in state: inout SurfaceState) {
    let bend = state.choices.bend
    state.choices = choices
    state.choices.bend = bend
    state.lists.learned = learned
    state.lists.sends = sends
    state.lists.receives = receives
    state.lists.calls = far.calls
    state.lists.outputs = ownOutputs(as: state.lists.outputs)
    state.lists.songs = setList
  }
}

extension SurfaceState {
  /// Takes over the audio cycle's report and the state of JACK.
  mutating func show(_ report: Report, _ host: HostView) {
    jack = host.jack
    jack.timebase = host.timebase(report)
    jack.leavesTimebase = report.master.timebase == .ours && !host.wantsTimebase
    readings = Readings(report, after: readings)
    readings.songOffsetMilliseconds = host.songOffset
    leading = leader(report)
    midiClock = clockIn(report)
    transport = transport(report, host)
    doing = doing(report, host)
    // Round the place: otherwise tiny changes of it would be sent to all controllers in each cycle.
    if report.song.isWaiting, report.song.startBeat.isFinite {
      startPlace = Beats(rounded(report.song.beat + report.song.startBeat - report.sessionBeat))
    } else if !report.isMoving {
      startPlace = Beats(rounded(report.song.beat))
    }
    var bars = report.bars
    // The report's meter may be older than the user's last choice.
    bars.change(to: choices.meter, at: report.song.beat)
    changedBars = report.song.isRolling && bars != Bars(choices.meter) ? bars : nil
    if !choices.syncsStartStop { link.isPlaying = report.isMoving || host.startBeat != nil }
  }

  private func transport(_ report: Report, _ host: HostView) -> Transport {
    // Both beats belong to the same frame. A song begins on a thirty-second note of the session, so round to
    // a thirty-second note.
    let origin = Beats(
      ThirtySeconds.beats(ThirtySeconds.nearest(to: report.sessionBeat - report.song.beat, grain: 1)))
    guard jack.isRunning else { return .stopped(at: .zero) }
    if report.song.isRolling { return .rolling(origin: origin) }
    if report.song.isWaiting { return .waiting(origin: origin) }
    // During a locate, keep the old state: a locate is no stop.
    if report.isBetweenPlaces { return transport }
    if let start = host.startBeat { return .waiting(origin: Beats(start - report.song.beat)) }
    return .stopped(at: Beats(report.song.beat))
  }

  private func doing(_ report: Report, _ host: HostView) -> Doing {
    if !jack.isRunning { return .none }
    // JACK still rolls for a cycle or two after it was asked to stop.
    if host.isStopping || host.isAskedToStop && doing == .stopping { return .stopping }
    if report.isUnderWay { return .rolling }
    if report.launch.isGivenUp { return .starting }
    return report.song.isWaiting || host.startBeat != nil ? .waiting : .stopped
  }

  private func leader(_ report: Report) -> Lead {
    switch (choices.lead, report.master.timebase) {
    case (.midi, _): report.clockIn.state == .locked && !report.clockIn.isEcho ? .midi : .link
    case (.host, .foreign), (.auto, .foreign): .host
    case (.link, _), (.host, _), (.auto, _): .link
    }
  }

  private func clockIn(_ report: Report) -> MIDIClockIn {
    guard choices.lead == .midi else { return .off }
    if report.clockIn.isEcho { return .echo }
    return switch report.clockIn.state {
    case .silent: .silent
    case .acquiring: .acquiring
    case .locked: .locked(Tempo((report.clockIn.tempo * 10).rounded() / 10))
    case .lost: .lost
    }
  }
}

/// Rounds to a thousandth of a beat.
private func rounded(_ beats: Double) -> Double { (beats * 1000).rounded() / 1000 }

extension SurfaceState.Readings {
  /// The figures of a report, rounded: further digits change all the time, and each change is a message to
  /// every controller. Adding 0 turns a negative zero (-0) into 0.
  init(_ report: Report, after before: Self) {
    self.init()
    driftPartsPerMillion = report.times.driftPPM.rounded() + 0
    launchErrorMilliseconds = (report.launch.error / 10).rounded() / 100
    // A launch error of exactly 0 means that there was no launch yet: no real launch is exact to the last
    // bit.
    hasLaunched = before.hasLaunched || report.launch.error != 0
    leadErrorMilliseconds = (report.hostPhaseError / 100).rounded() / 10
    lagMilliseconds = (report.song.hostLag / 100).rounded() / 10
    aheadMilliseconds = (report.ahead / 100).rounded() / 10 + 0
    jitterMicros[.clock] = OutputHealth.shown(jitter: report.outputs.clockJitter)
    jitterMicros[.pulse] = OutputHealth.shown(jitter: report.outputs.pulseJitter)
    lostCycles = Int(clamping: report.times.lostCycles)
    movedLaunches = Int(clamping: report.launch.moved)
  }
}

/// The part of JACK's state that the control thread knows, for controllers.
struct HostView {
  /// JACK's state without the timebase, which the audio thread reports.
  var jack = SurfaceState.JACKState()
  var probableMaster: String?
  var wantsTimebase = true
  /// Whether a stop waits for its beat or bar.
  var isStopping = false
  /// Whether JACK was asked to stop and has not stopped yet.
  var isAskedToStop = false
  /// The session's beat for which a start waits while JACK's transport is stopped.
  var startBeat: Double?
  /// The milliseconds by which the song is ahead of its place in the session.
  var songOffset = 0.0

  func timebase(_ report: Report) -> SurfaceState.Timebase {
    switch report.master.timebase {
    case .none: .nobody
    case .ours: .tactus
    case .foreign: .other(probableMaster.map { "\($0) (probably)" } ?? "another client")
    }
  }
}

extension HostView {
  init(_ host: JACKHost, _ exchange: AudioExchange, _ song: FollowedSong = FollowedSong()) {
    songOffset = song.offsetMilliseconds
    jack.isRunning = host.isRunning
    jack.clientName = host.server.clientName
    jack.sampleRate = host.server.sampleRate
    jack.framesPerCycle = host.server.framesPerPeriod
    jack.xruns = exchange.xrunCount
    jack.refusedLatencies = exchange.refusedLatencyCount
    (jack.sinks, jack.sinkState) = host.isRunning ? (host.sinks.words, host.sinks.state) : ("none", .none)
    for port in Port.all where jack.sampleRate > 0 {
      jack.latencyMilliseconds[port] = Double(host.latencies[port]) * 1000 / Double(jack.sampleRate)
    }
    jack.isClickConnected = host.isClickConnected ?? false
    jack.outputHealth = OutputHealth.all(on: host)
    jack.corrections = Int(clamping: host.plan.corrections)
    probableMaster = host.probableMaster
    wantsTimebase = host.wantsTimebase
    isStopping = host.plan.isStopping
    isAskedToStop = host.plan.isAskedToStop
    startBeat = host.plan.startBeat
  }
}

extension CommandHandler {
  /// Shows controllers the audio cycle's report, the state of JACK, and the list of peers. [control]
  func show(_ report: Report, _ host: HostView, peers: String = "") {
    tell {
      $0.show(report, host)
      $0.link.peerList = peers
    }
  }
}
