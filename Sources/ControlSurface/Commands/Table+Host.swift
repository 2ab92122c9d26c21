// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices

extension Table {
  static let transport: [Node] =
    [
      .flag(
        "playing", "The session plays. Setting it starts or stops, as launch says.",
        read: { $0.state.playing },
        write: { $0 ? .start(nil) : .stop }),
      .trigger(
        "start", "Start, as launch says or as the argument does.", optional: [when],
        lit: { $0.state.isMoving }
      ) { values, _ in .command(.start(values.first.map { LaunchMoment.allCases[$0.whole] })) },
      .trigger("stop", "Stop.", lit: { !$0.state.isMoving }) { _, _ in .command(.stop) },
      .trigger("toggle", "Start, or stop.", lit: { $0.state.isMoving }) { _, _ in .command(.toggle) },
      .trigger("rewind", "Back to the first bar.") { _, _ in .command(.rewind) },
      .order("locate", [.number(0...1e6, unit: "beats")], "Go to this song beat; the first is 0.") {
        values, _ in
        .command(.locate(.beat(values[0].number)))
      },
      .order("locate/bar", [.whole(1...1_000_000)], "Go to this bar; the first is 1.") {
        values, _ in
        .command(.locate(.bar(values[0].whole)))
      },
      .order("locate/time", [.number(0...86_400, unit: "s")], "Go to this time.") { values, _ in
        .command(.locate(.seconds(values[0].number)))
      },
    ]
    + Node.rows(
      of:
        Choice(
          "record", \.records,
          "The wish to record: told to all, and sent to DAWs as MIDI machine control through clock.",
          in: .session, isMomentary: true),
      Choice(
        "launch", \.launch.moment,
        "What a start waits for: nothing, the next beat, or the bar, which is the quantum while nothing rolls.",
        in: .session),
      Choice(
        "launch/align", \.launch.alignment,
        "How near to its beat a start is: in the nearest cycle, or to the frame, for which the transport is sent back "
          + "by less than a period first.",
        in: .session),
      Choice(
        "stop/when", \.stop,
        "What a stop that tactus is asked for waits for. Asked again, it stops at once.", in: .session))

  static let drift: [Node] =
    Node.rows(
      of:
        Choice(
          "drift/correct", \.correction,
          "What is done when a DAW has drifted from the session while it rolls: nothing, or a locate at the next bar, "
            + "which is heard as a gap.",
          in: .session),
      Choice(
        "drift/above", \.correctAbove, "Drifts below this are not corrected.",
        within: .number(0.5...1000, unit: "ms"), in: .session))
    + [
      .measured("drift/lag", "ms", "How far a host that counts frames is behind the session.") {
        $0.state.lagMilliseconds
      },
      .count("drift/corrections", "", "Corrections since the start.") { $0.state.corrections },
      .count("launch/moved", "", "Starts that moved on because another JACK client was not ready.") {
        $0.state.movedLaunches
      },
    ]

  static let host: [Node] =
    Node.rows(
      of: .offset(
        "jack/offset", .jack, "The same for the bar and beat shown to other JACK clients, and for launches."))
    + [
      .flag(
        "jack/rolling", "JACK transport rolls. Setting it starts or stops, as launch says.",
        read: { $0.state.isRolling }, write: { .rolling($0) }),
      .flag(
        "jack/timebase", "We are JACK's timebase master. 1 asks for it if nobody has it, 0 gives it up.",
        read: { $0.state.timebase == .tactus }, write: { .timebase($0) }),
      .label("jack/timebase/str", "Who is timebase master.") { $0.state.timebase.name },
      .trigger("takeover", "Become timebase master, whoever is.") { _, _ in .command(.takeover) },
      .reading("jack/connected", .flag, "The JACK server is there.") { .flag($0.state.jackConnected) },
      .count("jack/rate", "Hz", "Sample rate.") { $0.state.sampleRate },
      .count("jack/period", "frames", "Frames in a cycle.") { $0.state.framesPerCycle },
      .count("jack/xruns", "", "How often JACK's driver was late since the start.") { $0.state.xruns },
      .count("jack/lost", "", "Cycles that passed without us since the start.") { $0.state.lostCycles },
      latency(.jack),
    ]

  static let readings: [Node] = [
    .measured("drift", "ppm", "The sound card's crystal against the session.") {
      $0.state.driftPartsPerMillion
    },
    .measured("launch/error", "ms", "How far the last launch was from the grid.") {
      $0.state.launchErrorMilliseconds
    },
    .measured("lead/error", "ms", "Phase between a leading host and the session.") {
      $0.state.leadErrorMilliseconds
    },
    .label("status", "One line: where we are.") { $0.state.status },
    .label("message", "The last news: peers come and go, JACK is back.") { $0.state.message },
    .label("osc/str", "Where it can be reached by OSC, and what is missing and looked for.") { $0.own.reach },
    .label("version", "The program's version.") { $0.version },
    .count("subscribers", "", "Controllers that are being told.") { $0.own.subscribers },
    .count("errors", "", "Messages that were refused since the start.") { $0.own.errors },
    quit,
  ]

  private static let quit: Node = {
    var quit = Node.trigger("quit", "End the program. From the same machine only.") { _, _ in .command(.quit)
    }
    quit.reach = .thisMachine
    return quit
  }()

  static func latency(_ port: Port) -> Node {
    let (path, what) =
      switch port {
      case .click1: ("click/1", "What leaves click_1")
      case .click2: ("click/2", "What leaves click_2")
      case .clock: ("clock", "MIDI clock")
      case .jack: ("jack", "The bar and beat of other JACK clients")
      case .pulse, .run, .control: ("\(port)", "What leaves \(port)")
      }
    return .measured("\(path)/latency", "ms", "\(what): the latency that JACK tells, compensated.") {
      $0.state.latencyMilliseconds[port]
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
