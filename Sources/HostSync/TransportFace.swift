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
    let asks = Launch.Question(
      state: cycle.transport.state, grid: grid,
      rollsAt: times.time(ofFrameNumber: cycle.times.frame) + period + latency, period: period,
      songBeat: Beats(song.position(atFrame: cycle.transport.frame, meaning: position(of: cycle), beat: 0)),
      notBefore: cycle.session.isPlaying ? Double(cycle.session.timeOfPlaying.count) : nil)
    return launch.mayRoll(asks, cycle.settings.launch, quantum: Beats(cycle.settings.quantum))
  }

  /// What the timebase master writes for the cycle that comes after this one, asked after `run`. `nextFrame` is
  /// the transport's frame then. [audio]
  @_noLocks @_noAllocation
  public mutating func bbt(_ cycle: borrowing Cycle, nextFrame: UInt32) -> BBT {
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

  /// Whose the bar and beat are that this cycle shows.
  @_noLocks @_noAllocation
  mutating func readTimebase(_ shown: BBT?) {
    guard let shown else {
      timebase = .nobodys
      return
    }
    if let published, shown.isCopy(of: published) { timebase = .ours } else { timebase = .anothers }
  }

  /// The song's beat that the transport's frame means: a foreign master's word for it, else the frame at the
  /// session's tempo.
  @_noLocks @_noAllocation
  func position(of cycle: borrowing Cycle) -> Double {
    if case .anothers = timebase, let beats = cycle.transport.bbt?.beats { return beats }
    let period = Double(cycle.session.timeline.tempo.clamped.microsPerBeat)
    return Song.beats(ofFrame: cycle.transport.frame, sampleRate: cycle.sampleRate, period: period)
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
    launch.observe(cycle.transport.state, heard: heard.start, period: period, grid: beats.session)
  }

  @_noLocks @_noAllocation
  private func isFollowingHost(_ cycle: borrowing Cycle) -> Bool {
    guard case .anothers = timebase else { return false }
    switch cycle.settings.lead {
    case .link: return false
    case .host, .automatic: return true
    }
  }

  @_noLocks @_noAllocation
  private func mayForce(_ cycle: borrowing Cycle) -> Bool {
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
        isConnected: cycle.session.isConnected))
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
}
