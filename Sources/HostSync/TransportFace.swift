// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

// What HostSync says to JACK's transport: whether it may roll, and which bar and beat it shows.
extension HostSync {
  /// The slow-sync client's answer for this cycle, asked before `run`: true lets the transport roll in the next.
  /// [audio]
  @_noLocks @_noAllocation
  public mutating func mayRoll(_ cycle: borrowing Cycle) -> Bool {
    let perFrame = times.steadyPerFrame
    let period = Double(frames) * perFrame
    let grid = Grid(cycle.session.timeline)
    // A freewheeling server waits for nobody; nor does a host that is the clock for everybody.
    guard period > 0, !cycle.isFreewheeling else { return true }
    if isFollowingHost(cycle), mayForce(cycle) { return true }
    let latency = Double(cycle.latencies.physical) * perFrame + Double(cycle.settings.offsets.transport.count)
    let rollsAt = times.time(ofFrameNumber: cycle.times.frame) + period + latency
    if !launch.isHolding, cycle.relocation.holds(cycle.transport, rollsAt: rollsAt, period: period) {
      launch.heldRelocation(until: rollsAt, period: period)
      return false
    }
    let songBeat = Beats(
      song.position(atFrame: cycle.transport.frame, meaning: position(of: cycle), beat: 0))
    let asks = Launch.Question(
      state: cycle.transport.state, frame: cycle.transport.frame, grid: grid, rollsAt: rollsAt,
      period: period,
      perFrame: perFrame, songBeat: songBeat,
      notBefore: cycle.session.isPlaying ? Double(cycle.session.timeOfPlaying.count) : nil,
      leader: leader(of: cycle, grid, songBeat: songBeat, at: rollsAt))
    return launch.mayRoll(asks, cycle.settings.launch, quantum: Beats(cycle.settings.quantum))
  }

  /// What the timebase master writes for the cycle that comes after this one, asked after `run`. `nextFrame` is
  /// the transport's frame then; `requested`: what somebody put into a new position. [audio]
  @_noLocks @_noAllocation
  public mutating func bbt(_ cycle: borrowing Cycle, nextFrame: UInt32, requested: BBT? = nil) -> BBT {
    // What a former master left behind is no request to us.
    if let requested, cyclesSinceOurs <= 2 { tempoRequest.read(requested.beatsPerMinute, at: heard.start) }
    tempoRequest.show(cycle.session.tempo, at: heard.start)
    let next = heard.time(atFrame: Double(frames))
    let there = Song.beats(
      ofFrame: nextFrame, sampleRate: cycle.sampleRate, period: beats.grid.period)
    let position = song.position(atFrame: nextFrame, meaning: there, beat: beats.grid.beat(at: next))
    let shown = BBT(
      song: Beats(position), meter: cycle.settings.meter, beatsPerMinute: cycle.session.tempo,
      grace: Beats(Double(frames) * heard.perFrame / beats.grid.period))
    published = shown
    return shown
  }

  /// Whose the bar and beat are that this cycle shows. What comes with a locate, ours above all, is shown for a cycle
  /// though nobody took the timebase, and a master that was late shows old news: another is master who stays.
  @_noLocks @_noAllocation
  mutating func readTimebase(_ shown: BBT?) {
    if case .ours = shows { cyclesSinceOurs = 0 } else { cyclesSinceOurs &+= 1 }
    guard let shown else {
      shows = .nobodys
      timebase = .nobodys
      return
    }
    if let published, shown.isCopy(of: published) { shows = .ours } else { shows = .anothers }
    timebase = shows
    if case .anothers = shows, cyclesSinceOurs < Self.doubtfulCycles { timebase = .ours }
  }

  /// The song's beat that the transport's frame means: a foreign master's word for it, else the frame at the
  /// session's tempo.
  ///
  /// While the transport stands, a beat must come out as that beat although ticks are cut off and frames rounded: a
  /// start a hair behind it would leave it out. What came with a locate is shown for a cycle like a master's word, and
  /// where it agrees with the frame, the frame tells more.
  @inline(__always) @_noLocks @_noAllocation
  func position(of cycle: borrowing Cycle) -> Double {
    let period = Double(cycle.session.timeline.tempo.clamped.microsPerBeat)
    let transport = cycle.transport
    var position = Song.beats(ofFrame: transport.frame, sampleRate: cycle.sampleRate, period: period)
    var isStanding = true
    if case .rolling = transport.state { isStanding = false }
    if case .anothers = shows, let bbt = transport.bbt,
      let told = isStanding ? bbt.standingBeats : bbt.beats,
      abs(told - position) * Double(BBT.publishedTicksPerBeat) > 1
    {
      position = told
    }
    guard isStanding else { return position }
    let whole = Double(Int64(rounding: position))
    // Half a frame, and what the arithmetic adds.
    let hair = 0.51e6 / Double(max(1, cycle.sampleRate)) / period
    return abs(position - whole) <= hair ? whole : position
  }

  /// Lets the song wait for the beat that the launch has chosen, before `Song` sees the transport.
  @_noLocks @_noAllocation
  mutating func startSong(_ cycle: borrowing Cycle) {
    let period = Double(cycle.frames) * heard.perFrame
    let isHeld = launch.isHolding
    let start = launch.target.value - Double(beats.shift)
    let origin = Int64(rounding: (launch.target - launch.songBeat).value) &- beats.shift
    if isHeld, case .starting = cycle.transport.state,
      !song.isWaiting || song.startBeat != start || song.origin != origin
    {
      song.arm(startingAt: start, origin: origin)
    }
    song.landmark = launch.landmark(
      cycle.transport.frame, perFrame: times.steadyPerFrame, period: beats.grid.period)
    if song.landmark == nil { song.landmark = cycle.relocation.landmark(at: heard.start) }
    launch.observe(
      Launch.Sight(
        state: cycle.transport.state, frame: cycle.transport.frame, heard: heard.start, period: period,
        perFrame: times.steadyPerFrame, grid: beats.session))
  }

  @_noLocks @_noAllocation
  private func isFollowingHost(_ cycle: borrowing Cycle) -> Bool {
    guard case .anothers = timebase else { return false }
    switch cycle.settings.lead {
    case .link, .midi: return false
    case .host, .automatic: return true
    }
  }

  @_noLocks @_noAllocation
  func mayForce(_ cycle: borrowing Cycle) -> Bool {
    if cycle.settings.hostIsTheClock { return true }
    return !cycle.session.isConnected
  }

  @_noLocks @_noAllocation
  mutating func followHost(_ cycle: borrowing Cycle) -> Proposal? {
    guard !cycle.isFreewheeling else { return nil }
    var isRolling = false
    if case .rolling = cycle.transport.state { isRolling = true }
    return follower.follow(
      HostFollower.Observation(
        bbt: isFollowingHost(cycle) ? cycle.transport.bbt : nil, isRolling: isRolling,
        heard: heard.time(atFrame: -Double(cycle.transport.bbtAge)), grid: Grid(cycle.session.timeline),
        quantum: cycle.settings.quantum, mayForce: mayForce(cycle),
        isConnected: cycle.session.isConnected, isSound: times.isSound))
  }

  /// Somebody started or stopped the transport: the session is told, unless it knows. A held start is told for the
  /// boundary that it waits for, so that peers choose the same one.
  @_noLocks @_noAllocation
  mutating func passOnStartStop(_ cycle: borrowing Cycle) -> Proposal? {
    var runs = true
    if case .stopped = cycle.transport.state { runs = false }
    let isChange = runs != wasRunning
    wasRunning = runs
    let isKnown = cycle.session.isPlaying == runs
    guard isChange, !isKnown, cycle.settings.syncsStartStop, !cycle.isFreewheeling else { return nil }
    let due = launch.isHolding ? beats.session.time(of: launch.target.value) : heard.start
    return Proposal(.playing(runs), at: Micros(rounding: due > heard.start ? due : heard.start))
  }

  /// What there is to tell about transport, launch and host.
  @_noLocks @_noAllocation
  mutating func reportHost(_ cycle: borrowing Cycle, into report: inout Report) {
    report.launchStage = launch.stage
    report.launches = launch.count
    report.launchError = launch.error
    report.shortenedLaunches = launch.shortened
    report.movedLaunches = launch.moved
    report.othersTake = launch.othersTake
    report.wish = launch.wish
    let ahead =
      Double(cycle.latencies.physical) * times.steadyPerFrame + Double(cycle.settings.offsets.transport.count)
    report.moment = Moment(
      number: cycle.times.frame, frame: cycle.transport.frame, frames: cycle.frames,
      heard: FrameLine(start: heard.start, perFrame: times.steadyPerFrame),
      due: heard.start - ahead, period: beats.session.period, sampleRate: cycle.sampleRate)
    report.timebase = timebase
    report.shown = cycle.transport.bbt
    report.tempoRequests = tempoRequest.count
    if let published { report.shownTempo = published.beatsPerMinute }
    report.refusedBBT = follower.refused
    report.hostPhaseError = follower.phaseError
    report.hostTempo = follower.hostTempo
    report.correctsPhase = follower.isCorrecting
    report.proposals = follower.proposals
    switch timebase {
    case .anothers: break
    case .ours, .nobodys: if song.isRolling { report.hostLag = song.lag.micros }
    }
  }
}
