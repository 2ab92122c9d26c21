// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkAddresses
import LinkSystem
import TactusJSON5
import TactusOSC
import TactusTestSupport
import Testing

@testable import TactusApp
@testable import TactusJACK
@testable import TactusSurface

private func survey(
  tactus: [String] = [], latency: UInt32 = 512, isRealtime: Bool = true,
  showsBars: Bool = false
) -> GraphSurvey {
  GraphSurvey(
    server: ServerDescription(
      server: "default", clientName: "tactus-looks", implementation: .jack2(version: "1.9.21"),
      sampleRate: 48000,
      framesPerPeriod: 256, isRealtime: isRealtime),
    tactus: tactus,
    outputs: [
      .init(name: "system:playback_1", isMIDI: false, latencyFrames: latency),
      .init(name: "system:midi_playback_1", isMIDI: true, latencyFrames: 0),
    ], physicalInputs: ["system:capture_1"], showsBars: showsBars)
}

/// Every value that a tactus in this state sends.
func values(of state: SurfaceState, reach: OSCReach = OSCReach()) -> [(row: Node, arguments: [Argument])] {
  var reading = Reading(state: state, own: SurfaceMemory())
  reading.own.reach = reach
  return Table.standard.rows.compactMap { row in row.read.map { (row, $0(reading)) } }
}

private func bad(_ findings: [Finding]) -> [String] {
  findings.filter { $0.grade == .bad }.map { "\($0.topic): \($0.words)" }
}

@Suite("The doctor's judgement")
struct DoctorJudgementTests {
  @Test
  func `the doctor has only good findings about a healthy JACK server`() {
    let findings = JACKExamination.judge(survey(tactus: ["tactus"]))
    #expect(findings.allSatisfy { $0.grade == .good }, "\(findings)")
    #expect(findings[0].words == "jack2 1.9.21, server \"default\", 48000 Hz, 256 frames a period, real time")
    #expect(findings[1].words == "JACK reports 512 frames (10.6 ms) for the sound card's outputs")
  }

  @Test
  func `the doctor names the latency of each sound card`() {
    var survey = survey()
    survey.outputs.append(.init(name: "bt:sink", isMIDI: false, latencyFrames: 9_600))
    #expect(
      JACKExamination.judge(survey)[1].words
        == "JACK reports 9600 frames (200.0 ms) for bt, 512 frames (10.6 ms) for system")
  }

  @Test
  func `the doctor names the ports whose latency tactus uses`() {
    func told(_ sinks: SinkChoice) -> [Finding] {
      let values: [String: Argument] = [
        "jack/connected": .float32(1), "jack/sink/str": .string(sinks.words),
        "jack/sink/state": .string(sinks.state.word),
      ]
      return DoctorCommand.judge(
        RemoteValues(values.map { (Table.standard.row($0.key)!, [$0.value]) }), port: 1
      ).filter { $0.topic == "Latency" }
    }
    var sinks = SinkChoice(reason: .click("click_1"), ports: ["card:1", "card:2"])
    let fine = told(sinks)
    #expect(fine.map(\.grade) == [.good])
    #expect(fine.first?.words.hasSuffix("by the latency of card: click_1 plays there") == true)
    sinks.isNameMissing = true
    let missing = told(sinks)
    #expect(missing.map(\.grade) == [.note] && missing[0].remedy?.contains("jack/sink auto") == true)
    #expect(told(SinkChoice(reason: .nobody, ports: [])).isEmpty)
    let long = SinkChoice(
      reason: .click(String(repeating: "c", count: 200)),
      ports: (0..<9).map { "\($0)" + String(repeating: "x", count: 300) + ":1" }, isNameMissing: true)
    #expect(long.words.utf8.count <= 255 && long.words.contains("and 6 more"))
  }

  @Test
  func `the doctor names each fault of a JACK server, with a remedy`() {
    let findings = JACKExamination.judge(
      survey(latency: 0, isRealtime: false))
    let words = bad(findings)
    #expect(words.count == 2)
    #expect(words[0].hasSuffix("not real time: every busy program can make it stutter"))
    #expect(
      words[1] == "Latency: JACK reports no latency for system:playback_1, although every sound card has some"
    )
    #expect(findings.filter { $0.grade == .bad }.allSatisfy { $0.remedy != nil })
  }

  @Test
  func `the doctor names a port whose latency is implausible`() {
    var survey = survey()
    survey.implausible = ["home-made:in"]
    let words = bad(JACKExamination.judge(survey))
    #expect(
      words == [
        "Latency: home-made:in: the program reports a latency of more than 2 s, which tactus ignores"
      ])
    survey.implausible = (1...6).map { "port\($0)" }
    #expect(bad(JACKExamination.judge(survey)).first?.contains("port4 and 2 more:") == true)
  }

  @Test
  func `the doctor notes a timebase master other than tactus`() {
    func grade(_ tactus: [String], _ shows: Bool) -> Finding.Grade? {
      JACKExamination.judge(survey(tactus: tactus, showsBars: shows)).first {
        $0.topic == "Timebase"
      }?.grade
    }
    #expect(grade([], true) == .note)
    #expect(grade([], false) == .good)
    #expect(grade(["stage"], true) == .good)
  }

  @Test
  func `the doctor judges the state, loss, key and NAT of other rooms`() {
    func room(_ name: String, _ state: ShownRoom.State, trip: Double? = nil, loss: Double? = nil) -> ShownRoom
    {
      ShownRoom(
        name: name, state: state, roundTripMilliseconds: trip, lossPercent: loss, offsetMilliseconds: 0)
    }
    func told(
      _ rooms: [ShownRoom], seen: [String] = [], _ change: (inout ShownFar) -> Void = { _ in }
    ) -> [Finding] {
      var state = SurfaceState()
      state.far.key = "k7qm"
      state.far.rooms = rooms
      for (place, address) in seen.enumerated() { state.far.rooms[place].seen = address }
      change(&state.far)
      return RoomsExamination.judge(
        RemoteValues(values(of: state)), "",
        own: [Address("192.168.1.5")!, Address("fd00::7%3") ?? Address("fd00::7")!])
    }
    #expect(told([]).isEmpty)
    let studio = room("studio:20819", .proven, trip: 120, loss: 2)
    let fine = told([studio], seen: ["203.0.113.7:4711"])
    #expect(fine.allSatisfy { $0.grade == .good && $0.topic == "Other rooms" } && fine.count == 3, "\(fine)")
    #expect(fine[0].words == "studio:20819 in 120 ms (±60 ms), 2 % lost")
    #expect(
      fine[1].words.hasPrefix("the key of this room has the letters \"k7qm\"")
        && fine[2].words.contains("(NAT)"))
    let plain = told([studio, studio], seen: ["192.168.1.5:4711", "[fd00::7]:4711"])
    #expect(plain.last?.words.hasSuffix("(no NAT)") == true)
    let silent = told([room("a:20819", .waiting), room("b:20819", .away)]) { $0.refused = "203.0.113.9:5" }
    #expect(silent.map(\.grade) == [.bad, .bad, .good, .note])
    #expect(silent[0].remedy != nil && silent[3].words.contains("203.0.113.9:5"))
    let lost = told([room("studoi:20819", .nowhere)])
    #expect(lost.first?.grade == .bad && lost[0].words.contains("studoi:20819 has no known address"))
    #expect(lost[0].remedy?.contains("name") == true && lost[0].remedy?.contains("key") == false)
    let own = told([room("studoi:20819", .ourselves)])
    #expect(own.first?.words == "studoi:20819 leads back to this tactus itself" && own[0].grade == .bad)
    #expect(own[0].remedy?.contains("--link-to") == true && own[0].remedy?.contains("key") == false)
    #expect(own[0].remedy?.contains("router") == false)
    var waiting = room("studoi:20819", .waiting)
    waiting.isCalledBack = true
    #expect(told([waiting]).first?.grade == .good && told([waiting])[0].words.hasSuffix("needed here"))
    waiting.isCalledBack = false
    #expect(told([waiting]).first?.grade == .bad)
    let shut = told([]) { $0.failure = "bind: Address already in use" }
    #expect(shut.first?.grade == .bad && shut[0].words.contains("(bind: Address already in use)"))
    let poor = told([room("a:20819", .proven, trip: 620, loss: 12)])
    #expect(poor.map(\.grade) == [.good, .note, .note, .good])
    #expect(told([room("a:1", .proven, trip: 1)]) { $0.key = "" }.map(\.grade) == [.good, .note])
    // There are more rooms than one datagram holds: the doctor judges each room that arrived with all its
    // values.
    let many = (0..<16).map { room("room-\($0).example.org:20819", .proven, trip: 120) }
    let listed = told(many)
    #expect(listed.allSatisfy { $0.grade == .good } && listed.count > 7, "\(listed)")
  }

  @Test
  func `the doctor finds a fault if OSC misses an address`() {
    func told(_ missing: String...) -> [Finding] {
      let reach = OSCReach(open: ["127.0.0.1:20809"], missing: missing, query: "http://127.0.0.1:8080/")
      var state = SurfaceState()
      state.jack.clientName = "tactus"
      return DoctorCommand.judge(RemoteValues(values(of: state, reach: reach)), port: 20809)
    }
    #expect(bad(told()).isEmpty)
    #expect(bad(told("no port; really")) == ["tactus: can use OSC only in part: no port; really"])
  }

  @Test
  func `a foreign timebase master is a fault, a second tactus is not`() {
    let beside = JACKExamination.judge(
      survey(tactus: ["tactus"], showsBars: true))
    #expect(beside.allSatisfy { $0.grade == .good }, "\(beside)")
    func told(
      _ lead: String, _ master: String, name: String = "tactus", click: Float = 0, plays: Bool = false,
      isAlone: Bool = true, ours: String? = nil
    ) -> [Finding] {
      let kind = ["tactus", "nobody"].contains(master) ? master : "other"
      let values: [(String, [Argument])] = [
        ("status", [.string("stopped")]), ("lead", [.string(lead)]), ("jack/name", [.string(name)]),
        ("jack/timebase/kind", [.string(kind), .string(kind == "other" ? master : "")]),
        ("clock/offset", [.float32(-8)]),
        ("click/offset", [.float32(click)]), ("click", [.float32(plays ? 1 : 0)]),
        ("jack/connected", [.float32(1)]), ("click/connected", [.float32(0)]),
      ]
      return DoctorCommand.judge(
        RemoteValues(values.map { (Table.standard.row($0.0)!, $0.1) }), port: 20809, isAlone: isAlone,
        master: ours)
    }
    #expect(told("link", "tactus").map(\.grade) == [.good, .note])
    let unheard = told("link", "tactus", plays: true)[1]
    #expect(unheard.words == "plays the click, but its ports are not connected: nobody hears it")
    #expect(unheard.grade == .bad && unheard.remedy?.hasPrefix("tactus send click 1 ") == true)
    let late = told("link", "tactus").last
    #expect(
      late?.words == "sends later than JACK's latencies ask for, because of your offsets: clock/offset -8 ms")
    #expect(late?.remedy?.hasSuffix("tactus check, or remove them: tactus send clock/offset 0.") == true)
    let both = told("link", "tactus", name: "stage", click: 5, isAlone: false).last
    #expect(both?.words.hasPrefix("stage sends earlier (below 0: later) than") == true)
    #expect(
      both?.remedy?.hasSuffix(
        "tactus send --name=stage click/offset 0, tactus send --name=stage clock/offset 0.") == true)
    let sibling = told("link", "another client", name: "stage", isAlone: false, ours: "tactus").last
    #expect(sibling == .good("tactus", "stage leaves bars and beats to tactus, which is timebase master"))
    let foreign = told("link", "klick (probably)", name: "stage", isAlone: false).last
    #expect(foreign?.remedy?.hasPrefix("tactus send --name=stage takeover") == true)
    #expect(bad(told("auto", "another client")) == [] && bad(told("link", "nobody")) == [])
    #expect(
      bad(told("link", "another client")) == [
        "tactus: follows the Link session, but another client is timebase master: other JACK programs get "
          + "bars and tempo from another client"
      ])
  }

  @Test
  func `without a JACK server, the remedy is to start one or use PipeWire`() {
    #expect(
      JACKExamination.judge(.noServer("default"), pipeWireRuns: true).remedy?.contains(
        "install pipewire-jack")
        == true)
    #expect(
      JACKExamination.judge(.noServer("default"), pipeWireRuns: false).remedy?.contains("--server") == true)
    let started = JACKExamination.judge(.noServer("default"), pipeWireRuns: false, startFile: "/etc/jackdrc")
    #expect(started.remedy?.contains("--start-server starts one as /etc/jackdrc says") == true)
  }

  @Test
  func `missing real-time rights, little memory and slow clocks are faults`() {
    var facts = MachineExamination.Facts()
    facts.clockSource = "tsc"
    #expect(bad(MachineExamination.judge(facts)) == [])
    facts.mayBeRealtime = false
    facts.lockedMemory = 8 << 20
    facts.clockSource = "hpet"
    facts.betterClockSources = ["tsc", "hpet"]
    facts.governor = "powersave"
    let findings = MachineExamination.judge(facts)
    #expect(
      bad(findings) == [
        "Real time: this user is not allowed to use it: every busy program can make the sound stutter",
        "Memory: only 8192 KiB of sound data may stay in RAM (memlock): when memory is short, the sound "
          + "waits for the disk",
        "Clock: hpet is slow to read, and audio programs read it all the time",
      ])
    #expect(findings.last?.grade == .note)
    #expect(findings.contains { $0.remedy?.contains("echo tsc") == true })
  }

  @Test
  func `the doctor judges each network interface by whether its packet returns`() {
    typealias Interface = NetworkExamination.Interface
    func judge(_ interface: Interface) -> Finding? {
      NetworkExamination.judge([interface, Interface(name: "eth9", address: "10.0.0.1", outcome: .heard)])
        .first
    }
    func grade(_ interface: Interface) -> Finding.Grade? {
      NetworkExamination.judge([interface]).last { $0.topic.hasSuffix(interface.name) }?.grade
    }
    let address = "192.168.7.20"
    #expect(grade(Interface(name: "eth0", address: address, outcome: .heard)) == .good)
    #expect(grade(Interface(name: "wlan0", address: address, isWireless: true, outcome: .heard)) == .note)
    #expect(grade(Interface(name: "eth0", address: address, outcome: .notHeard)) == .bad)
    #expect(
      judge(Interface(name: "eth0", address: address, outcome: .notHeard))?.remedy?
        .contains("sudo ufw allow proto udp from 192.168.7.0/24") == true)
    #expect(
      judge(Interface(name: "eth0", address: address, outcome: .notSent(errno: ENETUNREACH)))?.remedy
        == "As root: ip route add 224.0.0.0/4 dev eth0")
    #expect(grade(Interface(name: "eth0", address: address, outcome: .notSent(errno: EPERM))) == .bad)
    // On most machines, loopback has no route for multicast, so this is no fault.
    let loopback = Interface(
      name: "lo", address: "127.0.0.1", isLoopback: true, outcome: .notSent(errno: ENETUNREACH))
    #expect(NetworkExamination.judge([loopback]).map(\.grade) == [.note])
    let peers = Interface(name: "eth0", address: address, outcome: .heard, peers: ["a", "b"])
    #expect(judge(peers)?.words.hasSuffix("; 2 other peers were heard") == true)
  }

  @Test
  func `the doctor's summary lists the notes if nothing is wrong`() {
    let good = Finding.good("JACK", "there")
    let network = NetworkExamination.judge([])
    #expect(DoctorCommand.summary([good]) == "Nothing is wrong.")
    #expect(
      DoctorCommand.summary([good] + network + [.note("Page", "off"), .note("Page", "off")])
        == "Nothing is wrong; to note: Network, Page.")
    #expect(DoctorCommand.summary([.bad("JACK", "gone", mend: "x")] + network) == "One thing is wrong.")
  }

  @Test
  func `from the kernel's table of sockets, only valid lines are read`() {
    let table = """
        sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
       12: 0100007F:5149 00000000:0000 07 00000000:00000000 00:00000000 00000000  1000        0 26482 2 0000 0
       13: 00000000000000000000000001000000:FFFF 00000000000000000000000000000000:0000 07 0:0 00:0 0 0 0 7 2 0 0
       14: nonsense
      """
    #expect(
      OwnPorts.sockets(Array(table.utf8)) == [
        .init(port: 0x5149, inode: "26482"), .init(port: 65_535, inode: "7"),
      ])
    #expect(OwnPorts.ofProgram(at: 0) == [])
  }

  @Test
  func `a finding of the doctor fits into a terminal, with its remedy below`() {
    let finding = Finding.bad("Clock", String(repeating: "slow ", count: 30), mend: "Do this.")
    let lines = finding.text.split(separator: "\n")
    #expect(lines.allSatisfy { $0.count <= 80 } && lines.first?.hasPrefix("!  Clock: slow") == true)
    #expect(lines.last == "   -> Do this.")
  }
}

@Suite("The doctor and the check in the lab", .serialized)
struct ExaminingProgramTests {
  private func findings(_ stage: LabStage, on host: Int = 1, _ options: String...) async throws -> (
    status: Int32, text: String
  ) {
    let done = try await ChildProcess.run(stage.command(on: host, [program, "doctor"] + options))
    #expect(done.errors == "")
    // Put the text on a single line, since the wrapping depends on the words.
    return (done.status, done.output.split { $0 == " " || $0 == "\n" }.joined(separator: " "))
  }

  @Test
  func `on a good network the doctor hears itself and counts the peers`()
    async throws
  {
    let stage = try await LabStage("--hosts", "2")
    let alone = try await findings(stage)
    #expect(
      alone.text.contains("+ Network wire0: 10.77.0.1: Link gets through; no other peer was heard"),
      "\(alone)")
    let peer = try LabPeer(.reference, in: stage, on: 2)
    try await peer.ask("enable on")
    let together = try await findings(stage)
    #expect(together.text.contains("Link gets through; 1 other peer was heard"), "\(together)")
    // A peer ignores the doctor's packet: it still counts no peers.
    try await peer.wait("peers", "0", seconds: 3)
    // Link's multicast needs no route, because Link names the interface itself when it sends.
    _ = try await stage.run("ip", "route", "del", "224.0.0.0/4")
    #expect(try await findings(stage).text.contains("; 1 other peer was heard"))
  }

  @Test
  func `the doctor blames a firewall only if it blocks Link`()
    async throws
  {
    let stage = try await LabStage("--hosts", "2")
    func wall(_ rules: String...) async throws -> (status: Int32, text: String) {
      for rule in ["flush ruleset", "add table inet wall"] + rules {
        let done = try await stage.run("nft", rule)
        try #require(done.status == 0, "\(rule): \(done.errors)")
      }
      return try await findings(stage)
    }
    let chain = "add chain inet wall"
    let input = "\(chain) in { type filter hook input priority 0; }"
    let closed = "\(chain) in { type filter hook input priority 0; policy drop; }"
    let output = "\(chain) out { type filter hook output priority 0; }"
    let keptOut = "wire0: 10.77.0.1: Link's packets go out, but do not come in: a firewall blocks them"
    let heard = "wire0: 10.77.0.1: Link gets through"

    let one = try await wall(input, "add rule inet wall in udp dport 20808 drop")
    #expect(one.status == 1 && one.text.contains("! Network \(keptOut)"), "\(one)")
    #expect(one.text.contains("sudo ufw allow proto udp from 10.77.0.0/24"), "\(one)")
    // These rules are the defaults of ufw and firewalld: only loopback and answers may pass.
    let own = [
      "add rule inet wall in iif lo accept", "add rule inet wall in ct state established,related accept",
    ]
    let usual = try await wall(closed, own[0], own[1])
    #expect(usual.text.contains("! Network \(keptOut)"), "\(usual)")
    #expect(usual.text.contains("+ Network lo: 127.0.0.1: Link gets through"), "\(usual)")
    // Add the rule that the doctor's remedy asks for.
    let mended = try await wall(
      closed, own[0], own[1], "add rule inet wall in ip saddr 10.77.0.0/24 udp dport 1-65535 accept")
    #expect(mended.text.contains("+ Network \(heard)"), "\(mended)")

    for verb in ["drop", "reject"] {
      let shut = try await wall(output, "add rule inet wall out udp dport 20808 \(verb)")
      #expect(shut.status == 1, "\(shut)")
      #expect(
        shut.text.contains(
          "! Network wire0: 10.77.0.1: a firewall blocks outgoing packets to Link's multicast address"),
        "\(shut)")
    }
    let open = try await wall()
    #expect(open.text.contains("+ Network \(heard)"), "\(open)")
    _ = try await stage.run("ip", "link", "set", "wire0", "multicast", "off")
    let deaf = try await findings(stage)
    #expect(deaf.text.contains("-> As root: ip link set wire0 multicast on"), "\(deaf)")
    _ = try await stage.run("ip", "link", "set", "wire0", "down")
    let cut = try await findings(stage)
    #expect(
      cut.text.contains("Network: there is none: tactus reaches only the Link apps of this machine"), "\(cut)"
    )
  }

  @Test
  func `the doctor finds a missing server, a foreign master, a running tactus`()
    async throws
  {
    let stage = try await LabStage("--no-server")
    let none = try await findings(stage, "--server=stage")
    #expect(none.status == 1 && none.text.contains("! JACK: no JACK server called \"stage\" is running"))
    let server = try ChildProcess(
      stage.command(["jackd", "--no-realtime", "-n", "stage", "-d", "dummy"]))
    let child = try ChildProcess(stage.command([program, "--wait", "--server=stage"]))
    try await child.awaitLine(beginning: "OSC: ")
    try await child.awaitLine(beginning: "timebase master")
    let text = try await findings(stage, "-s", "stage").text
    #expect(text.contains("not real time: every"), "\(text)")
    #expect(text.contains("+ Timebase: bars and beats are shown on JACK's transport"), "\(text)")
    #expect(text.contains("+ tactus: runs, controlled at OSC port 20809: \"stopped\""), "\(text)")
    // The doctor does not count the tactus that it examines as a peer, but it does count a second
    // tactus.
    let status = try await stage.run(program, "status").output
    #expect(
      status.contains("Enabled, No Links")
        && text.contains("127.0.0.1: Link gets through; no other peer was heard"), "\(text)")
    let second = try ChildProcess(stage.command([program, "--server=stage", "--name=second"]))
    try await second.awaitLine(beginning: "OSC: ")
    try await second.awaitLine(beginning: "1 Link")
    let both = try await findings(stage, "-s", "stage").text
    #expect(both.contains("127.0.0.1: Link gets through; 1 other peer was heard"), "\(both)")
    second.signal(SIGTERM)
    #expect(await second.status() == 0)
    child.signal(SIGTERM)
    #expect(await child.status() == 0)
    let klick = try ChildProcess(
      stage.command(["env", "JACK_DEFAULT_SERVER=stage", "klick", "-T", "120"]))
    var other = ""
    for _ in 0..<100 {
      other = try await findings(stage, "-s", "stage").text
      if other.contains("another program is timebase master") { break }
    }
    #expect(
      other.contains("Timebase: another program is timebase master: JACK's transport shows its bars"),
      "\(other)")
    klick.signal(SIGTERM)
    let json = try await findings(stage, "--json", "--server=stage")
    guard case .object(let members) = try JSON5.read(Array(json.text.utf8)).value else {
      Issue.record("\(json.text)")
      return
    }
    #expect(members.map(\.name) == ["wrong", "findings"] && json.status == 1)
    server.signal(SIGTERM)
  }

  @Test
  func `tactus check measures a cable and sets the offset, now and later`()
    async throws
  {
    // jackd's own loopback serves as the cable. Its sound comes back one period later than JACK's latencies
    // say.
    let stage = try await LabStage("--no-server")
    let server = try ChildProcess(
      stage.command([
        "jackd", "--no-realtime", "-n", "stage", "-L", "2", "-d", "dummy", "-r", "48000", "-p", "480",
      ]))
    let child = try ChildProcess(stage.command([program, "--wait", "--server=stage"]))
    try await child.awaitLine(beginning: "OSC: ")
    let ports = try await stage.run("jack_lsp", "-s", "stage").output
    #expect(ports.contains("loopback"), "\(ports)")
    let cable = [
      "--server=stage", "--output=loopback:playback_1", "--input=loopback:capture_1", "--seconds=3",
    ]
    let check = stage.command([program, "check", "--json", "--set", "--share=100"] + cable)
    var done = try await ChildProcess.run(check)
    // On a busy machine this server may be too slow for three seconds of cycles within eight.
    for _ in 0..<2 where done.errors.contains("JACK stopped") { done = try await ChildProcess.run(check) }
    #expect(done.status == 0, "\(done)")
    let fields = FlatJSON.object(done.output) ?? [:]
    let way = fields["milliseconds"]?.number ?? .nan
    let error = fields["error"]?.number ?? .nan
    let offset = fields["offset"]?.number ?? .nan
    // The measured delay is a whole number of periods of 10 ms, exact to the frame.
    #expect(abs(way / 10 - (way / 10).rounded()) < 0.001 && way > 0, "\(done.output)")
    #expect(abs(error - (way - (fields["told"]?.number ?? .nan))) < 1e-9)
    #expect(abs(offset - error) < 0.01)
    let said = try await stage.run(program, "send", "click/2/offset").output
    #expect(abs((Double(said.dropLast()) ?? .nan) - offset) < 0.001, "\(said)")
    // Give the second port an offset of its own, which a new offset for both ports removes.
    #expect(try await stage.run(program, "send", "click/2/offset", "3.25").status == 0)
    child.signal(SIGTERM)
    #expect(await child.status() == 0)
    let remembered = try await stage.run(program, "config").output
    #expect(remembered.contains("click-offset \(JSON5.text(offset))\n") || offset == 0, "\(remembered)")
    // Without a running tactus, the offset is remembered for the next start. By default, the offset is half
    // of the error that the check found.
    #expect(remembered.contains("click-2-offset 3.25\n"), "\(remembered)")
    let later = try await ChildProcess.run(stage.command([program, "check", "--set"] + cable))
    #expect(
      later.status == 0 && later.output.contains("clicks came back from loopback:playback_1"), "\(later)")
    #expect(later.errors.hasPrefix("tactus: tactus will use --click-offset=") || offset == 0)
    let kept = try await stage.run(program, "config").output
    #expect(!kept.contains("click-2-offset 3.25"), "\(kept)")
    // Check without a cable, and then with a port that does not exist.
    let silent = try await stage.run(
      program, "check", "--server=stage", "--output=system:playback_1", "--input=loopback:capture_2",
      "--seconds=2")
    #expect(
      silent.status == 1 && silent.errors.contains(": 0 of ")
        && silent.errors.contains("clicks came back: is there a cable"), "\(silent)")
    let missing = try await stage.run(program, "check", "--server=stage", "-i", "system:nowhere")
    #expect(
      missing.status == 1
        && missing.errors == "tactus: there is no port system:nowhere; jack_lsp lists them\n")
    server.signal(SIGTERM)
  }
}
