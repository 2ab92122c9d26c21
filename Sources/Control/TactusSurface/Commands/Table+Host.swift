// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusOSC

extension Table {
  static let transport: [Node] =
    [
      .state(
        "transport/state",
        "What the transport does, as a fixed word for programs. none: there is no JACK server; waiting: "
          + "a start waits for its beat or bar; starting: JACK waits for another client; stopping: a stop "
          + "waits for its beat or bar.", \.doing),
      .readings(
        "transport/start",
        [when, .number(0...1e6, unit: "beats"), .number(1...65, unit: "notes")],
        "What the next start waits for, the song's beat from which it begins, and the place of that beat in its bar: "
          + "1 is the bar line, 3 the bar's third note."
      ) { it in
        [
          .word(Int(it.state.startMoment.rawValue)), .number(it.state.startPlace.value),
          .number(it.state.startNote),
        ]
      }.restoring {
        $0.askedLaunch = LaunchMoment(rawValue: UInt8(clamping: $1[0].whole))
        $0.startPlace = Beats($1[1].number)
      },
      .flag(
        "playing",
        "The session plays. 1 starts it, 0 stops it; launch and stop/when say at which moment.",
        read: { $0.state.link.isPlaying },
        write: { $0 ? .start(nil) : .stop }),
      .trigger(
        "start", "Starts, at the moment that launch or the argument says.", optional: [when],
        lit: { $0.state.isMoving }
      ) { values, _ in .command(.start(values.first.map { LaunchMoment.allCases[$0.whole] })) },
      .trigger("stop", "Stops.", lit: { !$0.state.isMoving }) { _, _ in .command(.stop) },
      .trigger("toggle", "Starts or stops.", lit: { $0.state.isMoving }) { _, _ in .command(.toggle) },
      .trigger("rewind", "Goes back to the first bar.") { _, _ in .command(.rewind) },
      .order("locate", [.number(0...1e6, unit: "beats")], "Goes to this song beat; the first is 0.") {
        values, _ in
        .command(.locate(.beat(values[0].number)))
      },
      .order("locate/bar", [.whole(1...1_000_000)], "Goes to this bar; the first is 1.") {
        values, _ in
        .command(.locate(.bar(values[0].whole)))
      },
      .order("locate/time", [.number(0...86_400, unit: "s")], "Goes to this time in the song.") { values, _ in
        .command(.locate(.seconds(values[0].number)))
      },
    ]
    + Node.rows(
      of:
        Choice(
          "record", \.records,
          "Record: shown on all controllers, and sent to DAWs as MIDI machine control through the port clock.",
          in: .session, isMomentary: true),
      Choice(
        "launch", \.launch.moment,
        "What a start waits for: a multiple of the quantum (bar), the next beat (beat), or nothing (now).",
        in: .session),
      Choice(
        "count/in", \.launch.countIn,
        "Click this many whole bars before a start, even if the click is off; the start waits for them. "
          + "A Link peer's start has a fixed time: you hear only the bars that are left until then. With "
          + "launch now there is no count-in.",
        within: .whole(0...Int(LaunchSettings.mostCountIn), unit: "bars"), in: .session, isRemembered: true),
      Choice(
        "launch/align", \.launch.alignment,
        "How exactly a start meets its beat: in the nearest audio cycle (nearest), or to the frame (exact), for which "
          + "tactus first moves the transport back by less than a period.",
        in: .session),
      Choice(
        "launch/wait", \.launch.wait,
        "What JACK's transport shows while your start, or a Link peer's, waits. With starting, slow "
          + "clients get ready meanwhile. With stopped, it shows stopped until just before the beat: for "
          + "programs that play as soon as they read starting (Qtractor). With a count-in it always shows "
          + "starting.",
        in: .session),
      Choice(
        "stop/when", \.stop,
        "When tactus stops after your key, pedal or OSC command: at once (now), or at the next beat or bar. A second command stops at once.",
        in: .session),
      Choice(
        "stop/at", \.stopPlace,
        "Where a stop by tactus leaves the transport: where it stopped (here), at the beginning of that bar (bar), or "
          + "at the song's beginning (start). The next start begins there. A stop by another JACK program leaves it where it is.",
        in: .session, isRemembered: true),
      Choice(
        "song/sync", \.syncsSong,
        "Song sync: the JACK transports of all tactus programs in the session that have it on stand and roll at the same "
          + "place of the song. Use it with startstop.",
        in: .session, isRemembered: true))
    + [
      .measured(
        "song/offset", "ms",
        "With song/sync, how far the song is ahead of its place in the session; negative: behind.",
        \.readings.songOffsetMilliseconds)
    ]

  static let drift: [Node] =
    Node.rows(
      of:
        Choice(
          "drift/correct", \.correction,
          "What tactus does about a rolling DAW that has drifted from the session: nothing (off), or move it back at the "
            + "next bar (locate), which you hear as a gap.",
          in: .session),
      Choice(
        "drift/above", \.correctAbove, "Correct only a drift above this.",
        within: .number(0.5...1000, unit: "ms"), in: .session))
    + [
      .measured(
        "drift/lag", "ms", "How far a DAW that counts frames is behind the session's beat.",
        \.readings.lagMilliseconds
      ),
      .count("drift/corrections", "", "Drift corrections since tactus started.") {
        $0.state.jack.corrections
      },
      .count("launch/moved", "", "Starts that were delayed because another JACK client was not ready.") {
        $0.state.readings.movedLaunches
      },
    ]

  static let host: [Node] =
    Node.rows(
      of: .offset(
        "jack/offset", .jack,
        "Show other JACK clients the bar and beat this much earlier, and start them this much earlier."),
      Choice(
        "jack/tick/double", \.showsFineTicks,
        "As timebase master, also show the tick as a fraction, for plugin hosts. Off by default: with "
          + "it, jackd ignores the locates of programs that send back the position that they read.",
        in: .jack),
      Choice(
        "jack/sink", \.sink,
        "Where you hear other JACK programs: a JACK client or port (* stands for any text), whose "
          + "latency counts for bars and launches. With auto tactus takes the sinks that the click reaches, "
          + "else those that a JACK program plays to.",
        within: .text(limit: ChosenName.longest), in: .jack, written: ("auto|NAME", ChosenName.allowed),
        isRemembered: true))
    + [
      .flag(
        "jack/rolling",
        "JACK's transport rolls. 1 starts it, 0 stops it; launch and stop/when say at which moment.",
        read: { $0.state.isRolling }, write: { .rolling($0) }),
      .flag(
        "jack/timebase",
        "tactus is JACK's timebase master. 1 makes it master if no other client is, 0 gives the timebase "
          + "up.",
        read: { $0.state.jack.timebase == .tactus }, write: { .timebase($0) }),
      .label(
        "jack/timebase/str",
        "The timebase master. JACK does not say which client it is, so (probably) marks a guess."
      ) { $0.state.master },
      .readings(
        "jack/timebase/kind", [SurfaceState.masters.parameter, .text(limit: 255)],
        "The timebase master as a fixed word for programs: leaving is tactus until JACK's transport stops; "
          + "other is another program, whose name follows."
      ) { $0.state.timebaseTold }.restoring { $0.takeTimebase($1) },
      .trigger("takeover", "Makes tactus timebase master, even if another program is.") { _, _ in
        .command(.takeover)
      },
      .label("jack/name", "The name of tactus as a JACK client.", \.jack.clientName),
      .flag("jack/connected", "tactus is connected to a JACK server.", \.jack.isRunning),
      .count("jack/rate", "Hz", "Sample rate.", \.jack.sampleRate),
      .count("jack/period", "frames", "Frames in a cycle.", \.jack.framesPerCycle),
      .count("jack/xruns", "", "How often JACK's driver was late since tactus started.", \.jack.xruns),
      .count("jack/lost", "", "Audio cycles that tactus missed since it started.") {
        $0.state.readings.lostCycles
      },
      latency(.jack),
      .count(
        "jack/latency/refused", "",
        "Latencies of more than 2 s that other programs reported to JACK since tactus started. tactus "
          + "counts each as none.",
        \.jack.refusedLatencies),
      .label(
        "jack/sink/str", "The JACK clients whose latency counts for bars and launches, and why.", \.jack.sinks
      ),
      .state(
        "jack/sink/state",
        "Whether jack/sink/str names clients, as a fixed word for programs: missing, if no port has the "
          + "name in jack/sink.",
        \.jack.sinkState),
    ]

  static let readings: [Node] = [
    .measured(
      "drift", "ppm", "How much faster the sound card runs than the session's time.",
      \.readings.driftPartsPerMillion),
    .measured("launch/error", "ms", "How far the last start was from its beat; positive: late.") {
      $0.state.readings.launchErrorMilliseconds
    }.restoring {
      $0.readings.launchErrorMilliseconds = $1[0].number
      // A launch error of exactly 0 means that there was no launch yet.
      if $1[0].number != 0 { $0.readings.hasLaunched = true }
    },
    .measured(
      "lead/error", "ms", "How far the beat of a leading host and the session's beat are apart.",
      \.readings.leadErrorMilliseconds),
    .label("status", "The transport's state, in a word or a line.") { $0.state.status },
    .label("message", "The last message, for instance that a peer came or that JACK is back.", \.message),
    .label("osc/str", "Where tactus listens for OSC, and the addresses at which it can't listen yet.") {
      $0.own.reach.words
    },
    .list("osc/open", "The number of addresses at which tactus listens for OSC, and the addresses.") {
      $0.own.reach.open
    },
    .list("osc/missing", "The number of addresses at which tactus can't listen yet, and the reason for each.")
    {
      $0.own.reach.missing
    },
    .label("version", "The program's version.") { $0.version },
    .count("subscribers", "", "Controllers that are subscribed now.") { $0.own.subscribers },
    .count(
      "errors", "",
      "Messages that tactus refused, and packets that it dropped because too many came, since it "
        + "started."
    ) { $0.own.errors },
    .label("save/str", "The number of the last save, and its result: the file, or why it failed.") {
      "\($0.state.saving.count): \($0.state.saving.words)"
    },
    .readings(
      "save/outcome", [.whole(0...Int(Int32.max)), .word(["none", "saved", "failed"]), .text(limit: 255)],
      "The number of saves, and the result of the last one, as a fixed word for programs and as a " + "text."
    ) {
      let state = $0.state
      let outcome = state.saving.count == 0 ? 0 : state.saving.hasFailed ? 2 : 1
      return [.whole(state.saving.count), .word(outcome), .text(printable(state.saving.words, limit: 255))]
    },
    ofThisMachine(
      "save",
      "Writes the present settings into the configuration file, unless that file was written by hand. "
        + "Only the same machine may send it.",
      .save(replacing: false)),
    ofThisMachine(
      "save/replace",
      "Writes the present settings into the configuration file, even if it was written by hand: the "
        + "old file is kept beside it. Only the same machine may send it.",
      .save(replacing: true)),
    ofThisMachine("quit", "Ends tactus. Only the same machine may send it.", .quit),
  ]

  private static func ofThisMachine(_ path: String, _ words: String, _ command: Command) -> Node {
    var row = Node.trigger(path, words) { _, _ in .command(command) }
    row.reach = .thisMachine
    return row
  }

  static func latency(_ port: Port) -> Node {
    let (path, what) =
      switch port {
      case .click1: ("click/1", "the port click_1")
      case .click2: ("click/2", "the port click_2")
      case .clock: ("clock", "the port clock")
      case .jack: ("jack", "the sinks where other JACK clients are heard (jack/sink)")
      case .pulse, .run, .control: ("\(port)", "the port \(port)")
      }
    return .measured(
      "\(path)/latency", "ms", "The latency that JACK reports for \(what); tactus compensates for it."
    ) {
      $0.state.jack.latencyMilliseconds[port]
    }
  }
}

extension SurfaceState {
  var isMoving: Bool {
    switch transport {
    case .stopped: false
    case .waiting, .rolling: true
    }
  }

  var isRolling: Bool {
    switch transport {
    case .stopped, .waiting: false
    case .rolling: true
    }
  }
}
