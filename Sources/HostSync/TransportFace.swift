// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices

// What HostSync says to JACK's transport: whether it may roll, and which bar and beat it shows.
extension HostSync {
  /// The slow-sync client's answer for this cycle, asked before `run`: true lets the transport roll in the next.
  /// [audio]
  @_noLocks @_noAllocation
  public mutating func mayRoll(_ cycle: borrowing Cycle) -> Bool {
    let now = now(extrapolatedTo: cycle)
    let cycleMicros = now.cycleMicros
    // A freewheeling server waits for nobody; nor does a host that is the clock for everybody.
    guard cycleMicros > 0, !now.isFreewheeling else { return true }
    if isFollowingHost(now), mayForce(now) { return true }
    let rollsAt = now.heard.start + cycleMicros
    if !launch.isHolding, now.relocation.holds(now.transport, rollsAt: rollsAt, period: cycleMicros) {
      launch.heldRelocation(until: rollsAt, cycleMicros: cycleMicros)
      return false
    }
    let songBeat = Beats(song.position(atFrame: now.transport.frame, meaning: position(now), beat: 0))
    return launch.mayRoll(
      Launch.Question(
        sight: Launch.Sight(now, isSound: true), songBeat: songBeat,
        notBefore: now.session.isPlaying ? Double(now.session.timeOfPlaying.count) : nil,
        leader: leader(now, songBeat: songBeat, at: rollsAt), settings: now.settings.launch,
        quantum: Beats(now.settings.quantum)))
  }

  /// What the timebase master writes for the cycle that comes after this one, asked after `run` and about the same. `nextFrame`
  /// is the transport's frame then; `requested`: what somebody put into a new position. nil: nothing was run yet. [audio]
  @_noLocks @_noAllocation
  public mutating func bbt(nextFrame: UInt32, requested: BBT? = nil) -> BBT? {
    guard let now = last else { return nil }
    if !now.isFreewheeling {
      // What a former master left behind is no request to us.
      if let requested, cyclesSinceOurs < Self.doubtfulCycles {
        tempoRequest.read(requested.beatsPerMinute, at: now.heard.start)
      }
      tempoRequest.show(now.session.tempo, at: now.heard.start)
    }
    let next = now.heard.time(atFrame: Double(now.frames))
    let there = Song.beats(ofFrame: nextFrame, sampleRate: now.sampleRate, period: now.grid.period)
    let position = song.position(atFrame: nextFrame, meaning: there, beat: now.grid.beat(at: next))
    let shown = BBT(
      song: Beats(position), meter: now.settings.meter, beatsPerMinute: now.session.tempo,
      grace: Beats(Double(now.frames) * now.heard.perFrame / now.grid.period))
    published = shown
    return shown
  }

  /// Whose the bar and beat are that this cycle shows. What comes with a locate, ours above all, is shown for a cycle
  /// though nobody took the timebase, and a master that was late shows old news: another is master who stays.
  mutating func readTimebase(_ shown: BBT?) {
    if case .ours = shows {
      cyclesSinceOurs = 0
    } else if cyclesSinceOurs < .max {
      cyclesSinceOurs += 1
    }
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
  @inline(__always)
  func position(_ now: borrowing Now) -> Double {
    let period = now.grid.period
    let transport = now.transport
    var position = Song.beats(ofFrame: transport.frame, sampleRate: now.sampleRate, period: period)
    let isStanding = !now.isRolling
    if case .anothers = shows, let bbt = transport.bbt,
      let told = isStanding ? bbt.standingBeats : bbt.beats,
      abs(told - position) * Double(BBT.publishedTicksPerBeat) > 1
    {
      position = told
    }
    guard isStanding else { return position }
    let whole = Double(Int64(rounding: position))
    // Half a frame, and what the arithmetic adds.
    let hair = 0.51e6 / Double(max(1, now.sampleRate)) / period
    return abs(position - whole) <= hair ? whole : position
  }

  /// Lets the song wait for the beat that the launch has chosen, before `Song` sees the transport.
  mutating func startSong(_ now: borrowing Now) {
    guard !now.isFreewheeling else {
      launch.letGo(now.transport.state)
      song.landmark = nil
      return
    }
    if let start = launch.start, case .starting = now.transport.state {
      song.arm(startingAt: start.target.value, origin: Int64(rounding: (start.target - start.songBeat).value))
    }
    song.landmark = launch.place(
      at: now.transport.frame, frameMicros: now.perFrame, beatMicros: now.grid.period)
    if song.landmark == nil { song.landmark = now.relocation.place(at: now.heard.start) }
    launch.observe(Launch.Sight(now, isSound: times.isSound))
  }

  private func isFollowingHost(_ now: borrowing Now) -> Bool {
    guard case .anothers = timebase else { return false }
    switch now.settings.lead {
    case .link, .midi: return false
    case .host, .auto: return true
    }
  }

  func mayForce(_ now: borrowing Now) -> Bool {
    if now.settings.hostIsTheClock { return true }
    return !now.session.isConnected
  }

  mutating func followHost(_ now: borrowing Now) -> Proposal? {
    let observation = HostFollower.Observation(
      bbt: isFollowingHost(now) ? now.transport.bbt : nil, isRolling: now.isRolling,
      heard: now.heard.time(atFrame: -Double(now.transport.bbtAge)), grid: now.grid,
      quantum: now.settings.quantum, mayForce: mayForce(now),
      isConnected: now.session.isConnected, isSound: times.isSound)
    return now.isFreewheeling ? follower.pause(observation) : follower.follow(observation)
  }

  /// Somebody started or stopped the transport: the session is told, unless it knows. A held start is told for the
  /// boundary that it waits for, so that peers choose the same one.
  mutating func passOnStartStop(_ now: borrowing Now) -> Proposal? {
    var runs = true
    if case .stopped = now.transport.state { runs = false }
    let isChange = runs != wasRunning
    wasRunning = runs
    if toldPlaying == now.session.isPlaying { toldPlaying = nil }
    let isKnown = if let toldPlaying { toldPlaying == runs } else { now.session.isPlaying == runs }
    guard isChange, !isKnown, now.settings.syncsStartStop, !now.isFreewheeling else { return nil }
    toldPlaying = runs
    var due = now.heard.start
    if let start = launch.start { due = max(due, now.grid.time(of: start.target.value)) }
    return Proposal(.playing(runs), at: Micros(rounding: due))
  }

  /// What there is to tell about transport, launch and host.
  mutating func reportHost(_ now: borrowing Now, into report: inout Report) {
    report.isHolding = launch.isHolding
    report.launches = launch.count
    report.launchError = launch.error
    report.shortenedLaunches = launch.shortened
    report.movedLaunches = launch.moved
    report.othersTake = launch.others.micros
    report.wish = launch.wish
    report.moment = Moment(
      number: now.number, frame: now.transport.frame, frames: now.frames,
      heard: FrameLine(start: now.heard.start, perFrame: now.perFrame),
      due: now.line.start, period: now.grid.period, sampleRate: now.sampleRate)
    report.timebase = timebase
    report.shown = now.transport.bbt
    report.tempoRequests = tempoRequest.count
    if let published { report.shownTempo = published.beatsPerMinute }
    report.refusedBBT = follower.refused
    report.hostPhaseError = follower.phaseError
    report.hostTempo = follower.hostTempo
    report.correctsPhase = follower.isCorrecting
    report.proposals = follower.proposals
    switch timebase {
    case .anothers: break
    case .ours, .nobodys: if song.isRolling, !now.isFreewheeling { report.hostLag = song.lag.micros }
    }
  }
}
