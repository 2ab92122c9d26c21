// SPDX-License-Identifier: GPL-2.0-or-later
import TactusJACK
import TactusJSON5
import TactusSurface

/// `tactus doctor`: checks everything that has to be right, and says what is wrong and how to mend it.
struct DoctorCommand: Conversing {
  static let name = "doctor"
  static let summary = "Look for what is wrong with JACK, the network and this machine"
  static let description = """
    Looks at JACK or PipeWire, latencies, real-time limits, the clock, and whether Link gets
    through on each network interface; says what is wrong and how to mend it. Ends with status
    0 if nothing is wrong, else 1. It sends one packet to Link's multicast group; peers ignore
    this packet.
    """
  static let options: [Option<DoctorCommand>] =
    [
      Option(
        "server", "s", in: .other, .value("NAME", .text(127), \.server),
        help: "The JACK server to look at (default: as configured)."),
      Option("json", in: .other, .flag(\.json), help: "Print one line of JSON."),
    ] + whereaboutsOptions

  var server: String?
  var json = false
  var whereabouts = Whereabouts()

  func run(_ operands: [String]) throws(UserError) -> Tactus.Status {
    var findings = configuration()
    let configured = (try? Startup([]).configuration.server) ?? nil
    findings += JACKExamination.findings(server: server ?? configured)
    findings += MachineExamination.judge(MachineExamination.facts)
    findings += NetworkExamination.judge(NetworkExamination.interfaces(own: ownPorts))
    findings += running()
    let bad = findings.count { $0.grade == .bad }
    let text =
      json
      ? JSON5.fields(["wrong": .of(bad), "findings": .list(findings.map(\.json))]).text
      : findings.map(\.text).joined(separator: "\n") + "\n" + Self.summary(findings)
    guard Console.say(text) else { return .failure }
    return bad == 0 ? .success : .failure
  }

  /// A line such as "Nothing is wrong; to note: Network, Page."
  static func summary(_ findings: [Finding]) -> String {
    let bad = findings.count { $0.grade == .bad }
    guard bad == 0 else { return bad == 1 ? "One thing is wrong." : "\(bad) things are wrong." }
    let topics = findings.filter { $0.grade == .note }.map(\.topic)
    let each = topics.indices.filter { !topics[..<$0].contains(topics[$0]) }.map { topics[$0] }
    return "Nothing is wrong" + (each.isEmpty ? "." : "; to note: \(each.joined(separator: ", ")).")
  }

  /// The UDP ports of the tactus to examine, or of any that runs. The doctor hears this tactus on the
  /// network, and must not count it as a peer.
  private var ownPorts: Set<UInt16> {
    let all = RunningNote.all()
    return OwnPorts.ofProgram(at: (try? whereabouts.port(of: all)) ?? all.first?.port ?? 0)
  }

  private func configuration() -> [Finding] {
    do {
      return try Startup([]).notices.map {
        .bad("Remembered settings", $0, mend: "You need not do anything: tactus starts a new file.")
      }
    } catch {
      return [.bad("Configuration", error.text, mend: "Correct that line: until then tactus does not start.")]
    }
  }

  /// Findings about all running tactus, or about the one that the user names.
  private func running() -> [Finding] {
    let all = RunningNote.all().map { Whereabouts(port: $0.port) }
    let isMeant = whereabouts != Whereabouts()
    // A tactus that is timebase master does not disturb another tactus of the same user.
    let master =
      all.count < 2
      ? nil
      : all.lazy.compactMap { try? Self.ask($0).told }.first {
        $0.isOn("jack/timebase")
      }
    return (isMeant || all.count < 2 ? [whereabouts] : all).flatMap { place in
      do throws(UserError) {
        let (told, port) = try Self.ask(place)
        let page = PageExamination.answers(told.state.page.reach)
        return Self.judge(
          told, port: port, isAlone: all.count < 2, master: master?.words("jack/name"), pageAnswers: page)
      } catch {
        return [
          isMeant
            ? .bad("tactus", error.text, mend: "tactus doctor without --name and --osc lists all that run.")
            : .note("tactus", error.text)
        ]
      }
    }
  }

  private static func ask(_ place: Whereabouts) throws(UserError) -> (told: RemoteValues, port: Int) {
    var running = try RunningTactus(place)
    do throws(UserError) {
      return (RemoteValues(try running.values()), running.port)
    } catch {
      throw UserError("is not running, or does not listen for OSC at port \(running.port)", .unavailable)
    }
  }

  private static func audio(_ told: RemoteValues, _ who: String) -> [Finding] {
    guard told.isOn("link/audio") else { return [] }
    switch told.state.audio.thread {
    case .realTime:
      return [.good("Link Audio", "\(who)sends and receives channels in real time, after JACK")]
    case .ordinary:
      return [
        .note(
          "Link Audio",
          "\(who)is not allowed to send and receive in real time: while other programs are busy, channels may have gaps",
          mend: MachineExamination.limits)
      ]
    case .slowed:
      return [
        .note(
          "Link Audio",
          "\(who)receives more audio packets than its share of the processor allows, so its audio thread runs "
            + "at normal priority",
          mend: "Find the sender: ss -uan, or tcpdump udp.")
      ]
    case .off, .unknown: return []
    }
  }

  /// Findings from the values of a running tactus. `master`: the tactus of this user that is timebase master.
  /// `pageAnswers`: whether the page answers; nil: the doctor has not tried.
  static func judge(
    _ told: RemoteValues, port: Int, isAlone: Bool = true, master: String? = nil, pageAnswers: Bool? = nil
  ) -> [Finding] {
    let name = told.words("jack/name")
    let (topic, who) = ("tactus", name == "tactus" ? "" : name + " ")
    let send = "tactus send " + (isAlone ? "" : name.contains(" ") ? "'--name=\(name)' " : "--name=\(name) ")
    var findings: [Finding] = [
      .good(topic, "\(who)runs, controlled at OSC port \(port): \"\(told.words("status"))\"")
    ]
    findings += told.list("osc/missing").map {
      .bad(topic, who + "can use OSC only in part: \($0)", mend: "tactus tries again every two seconds.")
    }
    if told.isOn("click"), told.isOn("jack/connected"), told.flag("click/connected") == false {
      findings.append(
        .bad(
          topic, "\(who)plays the click, but its ports are not connected: nobody hears it",
          mend:
            "\(send)click 1 connects the click to the first two playback ports. Or connect click_1 in a patchbay."
        ))
    }
    findings += sinks(told, who, send)
    findings += page(told, who, send, pageAnswers)
    findings += RoomsExamination.judge(told, who)
    findings += audio(told, who)
    findings += offsets(told, who, send)
    findings += lead(told, who, send, master)
    return findings
  }
}

extension DoctorCommand {
  /// The finding about outputs that were moved in time by hand.
  private static func offsets(_ told: RemoteValues, _ who: String, _ send: String) -> [Finding] {
    let offsets = told.offsets
    guard !offsets.isEmpty else { return [] }
    let signs = Set(offsets.map { $0.value.hasPrefix("-") })
    let when = signs == [true] ? "later" : signs == [false] ? "earlier" : "earlier (below 0: later)"
    let list = offsets.map { "\($0.path) \($0.value) ms" }.joined(separator: ", ")
    let cure = offsets.map { "\(send)\($0.path) 0" }.joined(separator: ", ")
    let kept =
      offsets.contains { $0.path == "jack/offset" }
      ? "Leave jack/offset as it is if a session of tactus runs (ardour-*, qtractor): the session has set it for its program. "
      : ""
    return [
      .note(
        "tactus", "\(who)sends \(when) than JACK's latencies ask for, because of your offsets: \(list)",
        mend: kept
          + "If you no longer need these offsets, measure again with tactus check, or remove them: \(cure).")
    ]
  }

  /// The finding about another timebase master, which disturbs only a tactus that leads.
  private static func lead(
    _ told: RemoteValues, _ who: String, _ send: String, _ master: String?
  ) -> [Finding] {
    guard told.state.choices.lead == .link, case .other(let other) = told.state.jack.timebase else {
      return []
    }
    if let master {
      return [.good("tactus", "\(who)leaves bars and beats to \(master), which is timebase master")]
    }
    return [
      .bad(
        "tactus",
        "\(who)follows the Link session, but \(other) is timebase master: other JACK programs get bars and tempo from \(other)",
        mend:
          "\(send)takeover makes tactus timebase master. With --lead=auto tactus follows \(other) instead.")
    ]
  }

  /// The finding about the ports whose latency counts for other programs.
  private static func sinks(_ told: RemoteValues, _ who: String, _ send: String) -> [Finding] {
    guard told.state.jack.isRunning else { return [] }
    let sinks = told.state.jack.sinks
    let words = "\(who)shifts the bars and starts of other programs by the latency of \(sinks)"
    return switch told.state.jack.sinkState {
    case .none, .unknown: []
    case .found: [.good("Latency", words)]
    case .missing:
      [
        .note(
          "Latency", words,
          mend: "\(send)jack/sink auto, or the name of a client or port that jack_lsp shows.")
      ]
    }
  }

  /// Findings about the page for phones.
  private static func page(_ told: RemoteValues, _ who: String, _ send: String, _ answers: Bool?) -> [Finding]
  {
    let topic = "Page"
    let who = who.isEmpty ? "" : "\(who.dropLast()): "
    let lacks = told.state.page.missing.map {
      Finding.bad(
        topic, "\(who)not open at every address: \($0)", mend: "tactus tries again every two seconds.")
    }
    return lacks + reach(told.state.page.reach, who, send, answers)
  }

  private static func reach(_ reach: PageReach, _ who: String, _ send: String, _ answers: Bool?) -> [Finding]
  {
    let topic = "Page"
    if answers == false, let address = reach.addresses.first {
      return [
        .bad(
          topic, "\(who)open at \(address), but it does not answer",
          mend:
            "Start tactus again. If the page stays silent, this tactus and the system's libmicrohttpd do not "
            + "fit together: please report both versions.")
      ]
    }
    return switch reach {
    case .off:
      [
        .note(
          topic, "\(who)off",
          mend: "\(send)web/open 1 opens the page to phones; tactus web shows its address.")
      ]
    case .closed:
      [.bad(topic, "\(who)not open yet", mend: "tactus has printed the reason, and tries again.")]
    case .thisMachine(let address):
      [
        .good(
          topic, "\(who)open at \(address), to this machine alone; \(send)web/open 1 opens it to phones")
      ]
    case .network([]):
      [.note(topic, "\(who)open, but this machine is in no network now")]
    case .network(let addresses):
      [.good(topic, "\(who)open at \(addresses.joined(separator: ", ")); tactus web has a QR code")]
    case .unknown: []
    }
  }
}
