// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK
import LinkBeatMath
import LinkSystem
import TactusChoices
import TactusTestSupport
import Testing

@testable import TactusJACK
@testable import TactusSync

/// A `JACKHost` on a running server, stepped as the program's main loop does it.
final class LiveHost {
  let exchange: AudioExchange
  let host: JACKHost
  private(set) var events: [JACKEvent] = []
  private(set) var session: SessionState
  /// The audio thread's proposals. All of them were carried out.
  private(set) var proposals: [Proposal] = []
  private(set) var settings = Settings()
  /// The number of times that this machine let more time pass between two steps than HostSync expects of a
  /// control thread.
  private(set) var pauses = 0
  /// The time of a command that no step has followed.
  private var commanded: Micros?
  /// How often tactus asked JACK for a stop.
  private var stopsAsked = 0
  private let server: TestServer
  private let sound = UnsafeMutableBufferPointer<Float>.allocate(capacity: 96)

  init(_ server: TestServer, name: String = "tactus") throws {
    self.server = server
    let timeline = Timeline(tempo: Tempo(120), beatOrigin: .zero, timeOrigin: HostClock.micros())
    session = SessionState(
      timeline: timeline, startStop: ClientStartStop(isPlaying: false, time: .zero, timestamp: .zero),
      isConnected: false)
    exchange = AudioExchange(session: session, settings: Settings())
    host = try JACKHost(name: name, server: server.name, exchange: exchange)
    try host.start(at: HostClock.micros())
  }

  deinit {
    host.close()
    sound.deallocate()
  }

  /// Steps every 10 ms until `isDone`, for at most 30 s. Returns the time it took.
  @discardableResult
  func run(at place: SourceLocation = #_sourceLocation, until isDone: () -> Bool) async throws -> Micros {
    let (start, cyclesBefore) = (HostClock.micros(), exchange.cycleCount)
    var lastStep = start
    while !isDone() {
      if server.hasBeenFreed { try unjudged("a call to JACK came after the server was stopped") }
      if HostClock.micros() - start > Micros(30_000_000) {
        let state = state
        try judgePace(since: start, cyclesBefore, state)
        try await judgePipeWire(state)
        Issue.record("waited for 30 s in vain; \(state)", sourceLocation: place)
        break
      }
      // A command that waits long for the next step is a pause, too.
      if HostClock.micros() - (commanded ?? lastStep) > Micros(25_000) { pauses += 1 }
      commanded = nil
      lastStep = HostClock.micros()
      countingStops { events += host.step(at: lastStep) }
      takeProposals()
      try await Task.sleep(for: .microseconds(min(10_000, host.pollInterval.count)))
    }
    return HostClock.micros() - start
  }

  /// The state of the transport as tactus and another client see it, for the message after a wait in vain.
  private var state: String {
    let report = exchange.report()
    return """
      \(exchange.cycleCount) cycles, \(report.times.lostCycles) lost, the plan: \(host.plan.stage), \
      seen: \(server.watch?.summary ?? "nothing"); \(report.launch), \(report.song), \(report.moment)
      """
  }

  /// Presses play in another client, and waits until the transport rolls. Presses play again every 3 s if
  /// JACK shows no start and tactus holds none: on a full machine PipeWire loses requests.
  func start(_ watch: TransportWatch, at place: SourceLocation = #_sourceLocation) async throws {
    var pressed = Micros.zero
    try await run(at: place) {
      let cycle = watch.last
      if !cycle.isStarting, !cycle.isRolling, HostClock.micros() - pressed > Micros(3_000_000),
        !exchange.report().launch.isHolding
      {
        watch.play()
        pressed = HostClock.micros()
      }
      return cycle.isRolling
    }
  }

  /// Locates in another client, and waits until the transport is there. Locates again every 3 s on PipeWire,
  /// which loses requests on a full machine.
  func locate(_ watch: TransportWatch, to frame: UInt32, at place: SourceLocation = #_sourceLocation)
    async throws
  {
    var located = Micros.zero
    try await run(at: place) {
      if watch.last.frame == frame { return true }
      let isDue = located == .zero || TestServer.isPipeWire
      if isDue, HostClock.micros() - located > Micros(3_000_000) {
        watch.locate(frame)
        located = HostClock.micros()
      }
      return false
    }
  }

  /// After a wait in vain, ends the test as not judged if the server had no time for a quarter of its cycles.
  /// JACK does not count such cycles as lost if all of them came late. A server that ran almost no cycle is
  /// no excuse.
  private func judgePace(since start: Micros, _ cyclesBefore: Int, _ state: String) throws {
    guard host.isRunning else { return }
    let cycleMicros = Double(host.server.framesPerPeriod) * 1e6 / Double(host.server.sampleRate)
    let due = Int(Double((HostClock.micros() - start).count) / cycleMicros)
    let played = exchange.cycleCount - cyclesBefore
    guard played * 10 > due, played * 4 < due * 3 else { return }
    try unjudged("the server ran only \(played) of \(due) cycles; \(state)")
  }

  /// After a wait in vain, looks for two faults of PipeWire 0.3.65 on a full machine, with which the test
  /// cannot be judged. The transport stops although no client has asked for a stop. Or PipeWire takes no
  /// request to start from any client, for as long as the server lives, while every cycle runs: then a client
  /// that knows nothing of tactus cannot start the transport either, neither beside tactus nor after tactus
  /// has left.
  func judgePipeWire(_ state: String) async throws {
    guard TestServer.isPipeWire, !exchange.report().launch.isHolding else { return }
    try judgeStops(state)
    let control = try TransportWatch(server)
    guard try await isIgnored(control) else { return }
    host.close()
    guard try await isIgnored(control) else {
      Issue.record("PipeWire starts only after tactus has left")
      return
    }
    try unjudged("PipeWire ignores each request to start; \(state)")
  }

  /// Ends the test as not judged if PipeWire has stopped the transport by itself.
  func judgeStops(_ state: String) throws {
    guard TestServer.isPipeWire, let watch = server.watch else { return }
    watch.collect()
    guard watch.stopsSeen > watch.stopsAsked + stopsAsked else { return }
    try unjudged("PipeWire stopped the transport, and no client had asked for a stop; \(state)")
  }

  private func isIgnored(_ control: TransportWatch) async throws -> Bool {
    guard !control.last.isStarting, !control.last.isRolling else { return false }
    control.forget()
    for _ in 0..<3 {
      control.play()
      try await Task.sleep(for: .seconds(1))
    }
    return control.collected.allSatisfy { !$0.isStarting && !$0.isRolling }
  }

  /// Waits until tactus has left a server that ended. Until then this process may not use libjack, not even
  /// for the next server.
  func awaitLoss() async throws {
    try await run { !host.isRunning }
    try await run { host.running == nil && !host.isLeaving }
  }

  /// Ends the server with a signal and starts it again. Waits until tactus is back.
  func restartServer(_ signal: Int32) async throws {
    server.end(signal)
    try await awaitLoss()
    try await server.start()
    try await run { host.isRunning }
  }

  func run(for milliseconds: Int64) async throws {
    let end = HostClock.micros() + Micros(milliseconds * 1_000)
    try await run { HostClock.micros() >= end }
  }

  /// Gives tactus a command, as a user does.
  func command(_ command: TransportCommand) {
    commanded = commanded ?? HostClock.micros()
    countingStops { host.command(command) }
  }

  private func countingStops(_ act: () -> Void) {
    let wasAsked = host.plan.isAskedToStop
    act()
    if host.plan.isAskedToStop, !wasAsked { stopsAsked += 1 }
  }

  /// Carries out the proposals, as the network thread does.
  private func takeProposals() {
    while let proposal = exchange.nextProposal() {
      proposals.append(proposal)
      edit { $0.apply(proposal) }
    }
  }

  /// The standing of tactus as timebase master or follower, by the last event about it.
  var standing: Mastership.MasterState {
    for event in events.reversed() { if case .timebase(let standing) = event { return standing } }
    return .uninvolved
  }

  /// Changes the session in the way that a peer would.
  func edit(_ change: (inout SessionState) -> Void) {
    change(&session)
    exchange.publish(session)
  }

  func change(_ edit: (inout Settings) -> Void) {
    edit(&settings)
    exchange.publish(settings)
  }

  func forgetEvents() { events = [] }

  /// Clicks on every beat from now on, with a sound that begins at its first sample.
  func click(beatsPerMinute: Double) {
    change { $0.click.isOn = true }
    sound.initialize(repeating: 0.5)
    let click = Sound(UnsafeBufferPointer(sound))
    exchange.publish(SoundBank(number: 1, accent: click, beat: click, subdivision: click))
    edit { $0.setTempo(beatsPerMinute, at: HostClock.micros()) }
  }

  /// The times, in microseconds, by which the next clicks are heard after the session's beats; negative:
  /// before the beat. `places`: the places of the clicks in a beat.
  func clickErrors(_ listener: Listener, count: Int, places: [Double] = [0]) async throws -> [Int64] {
    listener.forget()
    let cycles = exchange.cycleCount
    var errors: [Int64] = []
    let deadline = HostClock.micros() + Micros(29_000_000)
    try await run {
      let rate = host.server.sampleRate
      let latency = Micros(Int64(rounding: Double(host.latencies[.click1]) * 1e6 / Double(rate)))
      errors = listener.onsets(sampleRate: rate).map { due in
        let heard = host.clockMap.link(fromJACK: due) + latency
        let beat = session.timeline.beats(at: heard).value
        let near = places.map { (beat - $0).rounded() + $0 }.min { abs($0 - beat) < abs($1 - beat) }!
        return (heard - session.timeline.time(at: Beats(near))).count
      }
      return errors.count >= count || HostClock.micros() > deadline
    }
    if errors.count < count {
      let (clicks, losses) = (listener.clickCount, listener.lossCount)
      try #require(
        clicks > count && losses > 10,
        """
        \(clicks) clicks were heard, and \(losses) times cycles were lost; \(exchange.cycleCount - cycles) cycles played, \
        \(listener.cycleCount) heard; freewheel: \(exchange.isFreewheeling); \(events.suffix(6))
        """)
      try unjudged("cycles were lost \(losses) times")
    }
    return errors
  }
}
