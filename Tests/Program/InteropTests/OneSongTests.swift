// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import Synchronization
import TactusTestSupport
import Testing

/// Two machines with a JACK server and a tactus each, whose transports stay at one place of the song.
@Suite(.serialized) struct OneSongTests {
  /// A host of the lab with its transport. If its rate is not the lab's, or if the server shall be restarted,
  /// the host has a jackd of its own.
  private final class Machine {
    let stage: LabStage
    let host: Int
    let rate: Int
    private(set) var transport: LabPeer
    private var server: ChildProcess?
    private(set) var tactus: ChildProcess
    private let environment: [String]

    init(_ host: Int, rate: Int = 48_000, isOwn: Bool = false, in stage: LabStage) async throws {
      (self.stage, self.host, self.rate) = (stage, host, rate)
      environment = isOwn ? ["env", "--unset=LD_LIBRARY_PATH", "JACK_DEFAULT_SERVER=another"] : []
      if isOwn { server = try await Self.jackd(rate: rate, in: stage, on: host) }
      transport = try LabPeer(.program(environment + [Lab.tool, "peer", "jack"]), in: stage, on: host)
      tactus = try Self.tactus(environment, in: stage, on: host)
    }

    private static func jackd(rate: Int, in stage: LabStage, on host: Int) async throws -> ChildProcess {
      let server = try ChildProcess(
        stage.command(
          on: host,
          ["env", "--unset=LD_LIBRARY_PATH", "jackd", "--realtime", "--realtime-priority", "10"]
            + [
              "--port-max", "512", "--name", "another", "-d", "dummy", "--rate", "\(rate)", "--period", "256",
            ]))
      try await Task.sleep(for: .seconds(2))
      return server
    }

    /// Restarts the host's own JACK server. Its transport then stands at frame 0.
    func restartServer() async throws {
      server?.signal(SIGKILL)
      await server?.status()
      await transport.kill()
      server = try await Self.jackd(rate: rate, in: stage, on: host)
      transport = try LabPeer(.program(environment + [Lab.tool, "peer", "jack"]), in: stage, on: host)
    }

    private static func tactus(_ environment: [String], in stage: LabStage, on host: Int) throws
      -> ChildProcess
    {
      let words = [
        Lab.products + "/tactus", "--no-tui", "--startstop", "--song-sync", "--launch=beat",
        "--drift-above=0.5",
      ]
      return try ChildProcess(stage.command(on: host, environment + words))
    }

    /// Kills tactus, as a crash would.
    func crash() async {
      tactus.signal(SIGKILL)
      await tactus.status()
    }

    func comeBack() throws { tactus = try Self.tactus(environment, in: stage, on: host) }

    func send(_ words: String...) async throws -> String {
      let done = try await ChildProcess.run(
        stage.command(on: host, [Lab.products + "/tactus", "send"] + words))
      return done.output + done.errors
    }

    func awaitPeer() async throws {
      var peers = ""
      for _ in 0..<100 where !peers.contains("1") {
        peers = (try? await send("peers")) ?? ""
        try await Task.sleep(for: .milliseconds(200))
      }
      #expect(peers.contains("1"), "\(peers)")
    }

    /// Locates as a DAW does.
    func locate(to beat: Double) async throws {
      try await transport.ask("locate \(Int((beat / 2 * Double(rate)).rounded()))")
    }

    func end() async {
      tactus.signal(SIGTERM)
      #expect(await tactus.status() == 0)
      server?.signal(SIGTERM)
    }
  }

  /// For each transport, the second at which the rolling song began, or minus the second at which it stands.
  /// JACK's clock is the same on all hosts of a lab. JACK takes a cycle's time when the server wakes up: on a
  /// busy machine late, and never early.
  private func begins(_ machines: [Machine]) async throws -> [Double] {
    var begins = machines.map { _ in Double.infinity }
    var states = Set<Bool>()
    for _ in 0..<8 {
      for machine in machines { machine.transport.send("status") }
      for (place, machine) in machines.enumerated() {
        let status = try await PeerStatus(machine.transport.answer(to: "status"))
        let seconds = (status.fields["frame"]?.number ?? .nan) / Double(machine.rate)
        let heard = (Double(status.time) + (status.fields["latency"]?.number ?? 0)) / 1e6
        begins[place] = min(begins[place], (status.isPlaying ? heard : 0) - seconds)
        states.insert(status.isPlaying)
      }
      try await Task.sleep(for: .milliseconds(7))
    }
    return states.count == 1 ? begins : [0, .infinity]
  }

  /// Waits until both transports are at one place. Returns the milliseconds between them, and how many
  /// milliseconds it took; infinity: they did not get there.
  private func agree(_ machines: [Machine], near beat: Double? = nil, within limit: Double = 20) async throws
    -> (apart: Double, after: Double)
  {
    let began = ContinuousClock.now
    var last: [Double] = []
    while began.duration(to: .now) < .seconds(limit) {
      last = try await begins(machines)
      let apart = abs(last[0] - last[1]) * 1000
      if apart < 12, beat.map({ abs(-last[0] * 2 - $0) < 0.01 }) ?? true {
        return (apart, began.duration(to: .now) / .milliseconds(1))
      }
    }
    print("song sync: the transports are at \(last)")
    return (.infinity, .infinity)
  }

  /// Two hosts of a lab. `own`: the number of the host that has a jackd of its own.
  private func pair(rate: Int = 48_000, own: Int? = nil, onPipeWire: Bool = false) async throws -> [Machine] {
    let stage =
      try await onPipeWire ? LabStage("--hosts", "2", "--pipewire") : LabStage("--hosts", "2")
    var machines: [Machine] = []
    for host in 1...2 {
      let isOwn = host == own
      machines.append(try await Machine(host, rate: isOwn ? rate : 48_000, isOwn: isOwn, in: stage))
    }
    for machine in machines { try await machine.awaitPeer() }
    // One of the two has joined the other's session, and has another beat.
    try await Task.sleep(for: .seconds(3))
    return machines
  }

  private func lost(_ machines: [Machine]) async throws -> String {
    var words = ""
    for machine in machines { words += try await machine.send("jack/lost") }
    return words
  }

  /// Starts, locates as a user of tactus and as a DAW, and stops. Returns the milliseconds between the
  /// rolling transports.
  private func roll(_ machines: [Machine], turn: Int, locates: Int = 6) async throws -> [Double] {
    var apart: [Double] = []
    func judge(_ what: String, _ known: String) async throws {
      var found = try await agree(machines)
      // On a busy machine all eight wake-ups of a look may be late. A real distance stays.
      for _ in 0..<2 where found.apart > 0.5 { found = try await agree(machines) }
      // Each lost cycle puts a transport back by a period.
      if try await lost(machines) != known { return notJudged("\(what): a server lost a cycle") }
      print("song sync: \(what): \(found.apart) ms")
      apart.append(found.apart)
    }
    let known = try await lost(machines)
    try await machines[turn % 2].transport.ask("play")
    for machine in machines { try await machine.transport.wait("playing", "true") }
    try await judge("start", known)
    for locate in 0..<locates {
      let machine = machines[locate % 2], place = (locate * 11) % 40 + 60 * (locate % 2) + 4
      let isDAW = locate % 3 == 2
      let known = try await lost(machines)
      if isDAW {
        try await machine.locate(to: Double(place))
      } else {
        _ = try await machine.send("locate", "\(place)")
      }
      try await Task.sleep(for: .seconds(2))
      try await judge("locate to \(place) by \(isDAW ? "a DAW" : "tactus")", known)
    }
    try await machines[(turn + 1) % 2].transport.ask("stop")
    for machine in machines { try await machine.transport.wait("playing", "false") }
    try await Task.sleep(for: .milliseconds(800))
    #expect(try await agree(machines).apart < 0.1)
    return apart
  }

  @Test(arguments: [48_000, 44_100])
  func `two hosts start and locate as one, from either side`(rate: Int) async throws {
    let machines = try await pair(rate: rate, own: rate == 48_000 ? nil : 2)
    var standing: [Double] = [], rolling: [Double] = [], times: [Double] = []
    for turn in 0..<20 {
      let beat = Double((turn * 7) % 32) + 4.5
      try await machines[turn % 2].locate(to: beat)
      let found = try await agree(machines, near: beat)
      standing.append(found.apart)
      times.append(found.after)
    }
    for turn in 0..<2 { rolling += try await roll(machines, turn: turn) }
    let report =
      "song sync at \(rate): standing \(standing.max() ?? 0) ms apart at most; rolling \(rolling.sorted()) ms;"
      + " a locate is followed after \(times.sorted()[times.count / 2]) ms"
    print(report)
    #expect((standing.max() ?? 9) < 0.1, "\(report)")
    // jackd's dummy driver cuts its period to whole microseconds, so at 44.1 kHz it runs 0.1 ms a second
    // faster than at 48 kHz. tactus leaves a distance of half a millisecond alone (`--drift-above`).
    #expect((rolling.max() ?? 0) < 1, "\(report)")
    for machine in machines { await machine.end() }
  }

  /// Expects that the second machine has joined the first, whose song began at the second `before` and has
  /// not moved. `isWhole`: whether no server lost a cycle meanwhile.
  private func expectReturn(
    _ machines: [Machine], from before: Double,
    _ name: String = #function, isWhole: () async throws -> Bool
  ) async throws {
    let found = try await agree(machines)
    let begun = try await begins(machines)
    let moved = abs(begun[0] - before) * 1000
    print("song sync: back again \(found.apart) ms apart, and the other has moved by \(moved) ms")
    // Lost cycles move a transport by much less than a beat.
    #expect(abs(begun[0] - begun[1]) < 0.25 && moved < 250, "\(begun)")
    guard try await isWhole() else { return notJudged("\(name): a server lost a cycle") }
    #expect(found.apart < 0.5 && moved < 6)
  }

  @Test func `a host that comes back joins the other and does not move it`() async throws {
    let machines = try await pair()
    try await machines[0].locate(to: 20)
    _ = try await agree(machines, near: 20)
    try await machines[0].transport.ask("play")
    for machine in machines { try await machine.transport.wait("playing", "true") }
    let before = try await begins(machines)[0]
    await machines[1].crash()
    try await machines[1].locate(to: 7)
    try await Task.sleep(for: .seconds(1))
    try machines[1].comeBack()
    try await machines[1].awaitPeer()
    let known = try await lost(machines)
    try await Task.sleep(for: .seconds(3))
    try await expectReturn(machines, from: before) { try await lost(machines) == known }
    for machine in machines { await machine.end() }
  }

  @Test func `a frozen tactus that wakes up obeys the stop that it missed`() async throws {
    let machines = try await pair()
    try await machines[0].transport.ask("play")
    for machine in machines { try await machine.transport.wait("playing", "true") }
    machines[1].tactus.signal(SIGSTOP)
    try await Task.sleep(for: .seconds(1))
    try await machines[0].transport.ask("stop")
    try await machines[0].transport.wait("playing", "false")
    try await Task.sleep(for: .seconds(1))
    machines[1].tactus.signal(SIGCONT)
    try await machines[1].transport.wait("playing", "false")
    try await Task.sleep(for: .seconds(1))
    for machine in machines {
      machine.transport.send("status")
      #expect(try await !PeerStatus(machine.transport.answer(to: "status")).isPlaying)
    }
    for machine in machines { await machine.end() }
  }

  @Test(.enabled(if: Lab.hasPipeWire))
  func `a host on PipeWire and a host on jackd locate as one`() async throws {
    let machines = try await pair(own: 1, onPipeWire: true)
    var standing: [Double] = []
    for turn in 0..<4 {
      let beat = Double((turn * 7) % 32) + 4.5
      try await machines[turn % 2].locate(to: beat)
      standing.append(try await agree(machines, near: beat).apart)
    }
    let rolling = try await roll(machines, turn: 0, locates: 2)
    print("song sync with PipeWire: standing \(standing.max() ?? 0) ms apart at most; rolling \(rolling) ms")
    #expect((standing.max() ?? 9) < 0.1 && (rolling.max() ?? 0) < 1, "\(standing), \(rolling)")
    for machine in machines { await machine.end() }
  }

  /// The restarted transport stands at the song's beginning until a user presses play.
  @Test func `a host whose jackd restarts comes back, and the other host plays on`() async throws {
    let machines = try await pair(own: 2)
    try await machines[0].locate(to: 20)
    _ = try await agree(machines, near: 20)
    try await machines[0].transport.ask("play")
    for machine in machines { try await machine.transport.wait("playing", "true") }
    let before = try await begins(machines)[0]
    let known = try await machines[0].send("jack/lost")
    try await machines[1].restartServer()
    // tactus is back in JACK when it shows the bar and beat.
    try await machines[1].transport.wait("bbt", "true", seconds: 30)
    for _ in 0..<8 {
      #expect(try await machines[0].transport.status().isPlaying)
      try await Task.sleep(for: .milliseconds(100))
    }
    try await machines[1].transport.ask("play")
    try await machines[1].transport.wait("playing", "true")
    try await Task.sleep(for: .seconds(2))
    try await expectReturn(machines, from: before) { try await machines[0].send("jack/lost") == known }
    for machine in machines { await machine.end() }
  }

  @Test func `LinkHut shows the same with song sync as without`() async throws {
    let machines = try await pair()
    let hut = try LabPeer(.linkhut, in: machines[0].stage)
    try await hut.ask("enable on")
    try await hut.ask("sync on")
    try await hut.wait("peers", "2")
    try await Task.sleep(for: .seconds(1))
    let known = try await lost(machines)
    let watch = Watch(hut)
    for (turn, beat) in [4.5, 11, 27].enumerated() {
      try await machines[turn % 2].locate(to: beat)
      #expect(try await agree(machines, near: beat).apart < 0.1)
    }
    try await machines[0].transport.ask("play")
    for machine in machines { try await machine.transport.wait("playing", "true") }
    _ = try await machines[1].send("locate", "64")
    try await Task.sleep(for: .milliseconds(1500))
    try await machines[0].locate(to: 5)
    try await Task.sleep(for: .milliseconds(1500))
    try await machines[1].transport.ask("stop")
    for machine in machines { try await machine.transport.wait("playing", "false") }
    try await Task.sleep(for: .seconds(1))
    #expect(try await agree(machines).apart < 0.1)
    var seen = try await watch.end()
    #expect(
      seen.states == ["120 BPM, 2 peers, stopped", "120 BPM, 2 peers, playing", "120 BPM, 2 peers, stopped"])
    // LinkHut starts and stops the session.
    try await hut.ask("play")
    for machine in machines { try await machine.transport.wait("playing", "true") }
    let second = Watch(hut)
    try await Task.sleep(for: .seconds(1))
    seen.moves += try await second.end().moves
    try await hut.ask("stop")
    for machine in machines { try await machine.transport.wait("playing", "false") }
    try await Task.sleep(for: .seconds(1))
    #expect(try await agree(machines).apart < 0.1)
    print("song sync beside LinkHut: its phase moved by \(seen.moves.map(abs).max() ?? 9) beats at most")
    if try await lost(machines) == known {
      #expect((seen.moves.map(abs).max() ?? 9) < 0.2)
    } else {
      notJudged("LinkHut's beat: a server lost a cycle")
    }
    for machine in machines { await machine.end() }
  }

  /// Reads LinkHut's line again and again, until `end`.
  private final class Watch: Sendable {
    struct Seen: Sendable {
      /// The tempo, number of peers and state, each time that one of them changes.
      var states: [String] = []
      /// The beats by which the shown phase is off the first, counted on at 120 BPM.
      var moves: [Double] = []
    }

    /// Whether the watch shall end. A class, because an atomic value can't be captured.
    private final class End: Sendable { let isDue = Atomic(false) }
    private let over = End()
    private let task: Task<Seen, any Error>

    init(_ hut: LabPeer) {
      let over = over
      task = Task {
        var seen = Seen(), first: Double?
        while !over.isDue.load(ordering: .relaxed) {
          let status = try await hut.status()
          let state =
            "\(Int(status.tempo)) BPM, \(status.peers) peers, \(status.isPlaying ? "playing" : "stopped")"
          if state != seen.states.last { seen.states.append(state) }
          let beat = status.beat - Double(status.time) / 500_000
          // If LinkHut starts, its beat moves by whole bars.
          seen.moves.append(Interop.distance(beat, first ?? beat))
          first = first ?? beat
        }
        return seen
      }
    }

    func end() async throws -> Seen {
      over.isDue.store(true, ordering: .relaxed)
      return try await task.value
    }
  }
}
