// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkBeatMath
import TactusChoices
import TactusTestSupport
import Testing

@testable import TactusSync

/// Random evenings with commands, peers, slow and dead clients, lost cycles, tempo changes and server
/// restarts. The rules of docs/launching.md alone decide whether a start is right. The environment variable
/// EVENINGS sets the number of evenings, FIRST_EVENING the first seed.
struct EveningTests {
  private static let count = number("EVENINGS") ?? 12
  private static let first = number("FIRST_EVENING") ?? 0

  private static func number(_ name: String) -> Int? { getenv(name).flatMap { Int(String(cString: $0)) } }

  @Test func `in simulated evenings starts are on the grid and no wait is endless`() {
    var judged = 0
    var told = 0
    for seed in Self.first..<Self.first + Self.count {
      let evening = Evening(seed: UInt64(seed))
      evening.run()
      #expect(evening.broken.isEmpty, "seed \(seed): \(evening.broken)\n\(evening.diary)")
      judged += evening.judged
      told += evening.told
    }
    #expect(
      judged > Self.count && told > Self.count / 2, "judged: \(judged), of these told: \(told)")
    print(
      "evenings \(Self.first)..<\(Self.first + Self.count): \(judged) starts judged, peers knew of \(told)")
  }

  /// The planted fault is that JACK lets a start roll that we hold.
  @Test func `a simulated evening detects that JACK rolls while we hold a start`() {
    var found: Set<String> = []
    for seed in 0..<6 as Range<UInt64> {
      let evening = Evening(seed: seed)
      evening.plantsFault = true
      evening.run()
      found.formUnion(evening.broken.map(\.rule))
    }
    #expect(found.contains("grid"), "\(found)")
  }
}

private final class Evening {
  struct Breach { var rule: String, words: String, second: Double }

  let studio: Studio
  let frames: UInt32
  private var dice: Dice
  private(set) var broken: [Breach] = []
  /// The number of starts that had to be on the grid and were checked. `told` is the number of these starts
  /// that we proposed to the session.
  private(set) var judged = 0, told = 0
  private(set) var diary: [String] = []
  /// Whether JACK lets a start roll although we have not said yes.
  var plantsFault = false

  private let begin: Double
  /// The number of cycles for which the control thread will not run yet, because it is late.
  private var lateCycles = 0
  /// Whether the next start may be off the grid. `isRetimed`: whether the start's time may differ from the
  /// time that peers know.
  private var hasWord = false, isRetimed = false
  /// The number of cycles since the transport began to roll; nil: the transport stands, or its start has been
  /// checked.
  private var rolling: Int?
  /// The number of proposals to the session that came before this start.
  private var toldBefore = 0
  /// The session's beat in the first cycle of this start.
  private var startedAt = 0.0
  private var cutStarts: UInt64 = 0

  init(seed: UInt64) {
    dice = Dice(seed: seed)
    frames = [64, 256, 1024][Int(seed % 3)]
    studio = Studio(tempo: 120)
    begin = studio.clock.due
    studio.asksBeforeRolling = true
    studio.isMaster = true
    studio.followsSession = true
    studio.longestHold = 10e6
    studio.settings.syncsStartStop = true
    studio.settings.click.isOn = false
    studio.plan.choices = studio.settings
  }

  private var second: Double { (studio.due - begin) / 1e6 }

  private func chance(_ share: Double) -> Bool { Double.random(in: 0..<1, using: &dice) < share }

  func run() {
    play(1.3)
    for _ in 0..<30 {
      happen()
      play(chance(0.3) ? .random(in: 0...0.05, using: &dice) : .random(in: 0.05...3, using: &dice))
    }
    rest()
  }

  /// Ends all disturbances. After this, every start, stop and locate that waits must come to an end.
  private func rest() {
    note("rest")
    studio.othersTake = 0
    play(30)
    let report = studio.report
    if studio.plan.isBusy { breach("pending", "the plan is busy: \(studio.plan.stage)") }
    if report.launch.isHolding || report.song.isWaiting || report.launch.isGivenUp {
      breach("pending", "a start waits")
    }
    let wasMoving = report.isMoving
    command(.stop)
    play(2)
    let isOver = !studio.report.isMoving && !studio.plan.isBusy && studio.sync.launch.isIdle
    if !isOver { breach("pending", "after a stop") }
    if wasMoving, studio.isPlaying { breach("pending", "the session plays on after a stop") }
  }

  private func note(_ words: String) {
    diary.append("\((second * 1000).rounded() / 1000) \(words)")
  }

  private func breach(_ rule: String, _ words: String) {
    broken.append(Breach(rule: rule, words: words, second: second))
  }

  private func command(_ command: TransportCommand) {
    note("\(command)")
    studio.command(command)
  }

  private func happen() {
    switch Int.random(in: 0..<16, using: &dice) {
    case 0...3: command(.play)
    case 4, 5: command(.stop)
    case 6: command(.stopOn(bar: chance(0.5)))
    case 7:
      let beat = Double(Int.random(in: 0..<64, using: &dice))
      command(.jump(frame: frame(of: beat), beat: beat, step: studio.settings.launchStep.value))
    case 8:
      // After a change of tempo, a rolling song's beats no longer follow from its frames. So locate only
      // while the transport stands.
      if !studio.report.isMoving {
        command(.locate(frame: frame(of: Double.random(in: 0..<64, using: &dice))))
      }
    case 9: peer()
    case 10:
      studio.othersTake = chance(0.2) ? 30e6 : .random(in: 0...1.5e6, using: &dice)
      note("clients need \(studio.othersTake / 1e6) s")
    case 11: stall()
    case 12:
      let tempo = Double(Int.random(in: 60...200, using: &dice))
      note("tempo \(tempo)")
      studio.setTempo(tempo)
      (hasWord, isRetimed) = (true, true)
    case 13: restart()
    case 14:
      lateCycles = Int(Double.random(in: 0...0.06, using: &dice) * 48_000 / Double(frames))
      note("the control thread is late by \(lateCycles) cycles")
    default: choose()
    }
  }

  private func frame(of beat: Double) -> UInt32 { UInt32(beat * 60 / studio.report.tempo * 48_000) }

  private func choose() {
    studio.settings.launch.moment = chance(0.6) ? .bar : .beat
    studio.settings.launch.alignment = chance(0.6) ? .nearest : .exact
    studio.settings.launch.wait = chance(0.7) ? .starting : .stopped
    studio.settings.launch.countIn = chance(0.8) ? 0 : 1
    studio.settings.stop = chance(0.7) ? .now : .bar
    studio.plan.choices = studio.settings
    (hasWord, isRetimed) = (true, true)
    note("\(studio.settings.launch)")
  }

  private func peer() {
    studio.isPlaying.toggle()
    studio.timeOfPlaying = Micros(rounding: studio.due + .random(in: 0...3e6, using: &dice))
    isRetimed = true
    note(
      "a peer \(studio.isPlaying ? "starts" : "stops") at \((Double(studio.timeOfPlaying.count) - begin) / 1e6)"
    )
  }

  private func stall() {
    let micros = Double.random(in: 1_000...100_000, using: &dice)
    note("stall of \(micros / 1000) ms")
    hasWord = true
    cycle(stall: micros)
  }

  private func restart() {
    note("restart")
    studio.restart()
    rolling = nil
    (hasWord, isRetimed) = (true, true)
  }

  private func play(_ seconds: Double) {
    let end = studio.due + seconds * 1e6
    while studio.due < end { cycle() }
  }

  private func cycle(stall: Double = 0) {
    let wasUnderWay = studio.report.isUnderWay
    lateCycles = max(0, lateCycles - 1)
    studio.controlIsLate = lateCycles > 0
    studio.play(frames, stall: stall)
    if plantsFault, studio.report.launch.isHolding, chance(0.02) { studio.transport.state = .rolling }
    let report = studio.report
    if report.launch.isGivenUp || report.launch.cutStarts != cutStarts { hasWord = true }
    cutStarts = report.launch.cutStarts
    judge(report, wasUnderWay: wasUnderWay)
    // Check the time of the request only if the control thread was not late.
    if case .asked(let request) = studio.plan.stage, lateCycles == 0,
      studio.due > Double((request.time + TransportLimits.answerTimeout).count) + 100_000
    {
      breach("pending", "JACK was asked at \(request.time)")
    }
  }

  /// Whether the session's start time comes from our proposal of this start. It does not if the session
  /// already played while an earlier server ran.
  private var isTimeOurs: Bool {
    studio.told.dropFirst(toldBefore).last { $0.change == .playing(true) }?.moment
      == studio.timeOfPlaying
  }

  /// Checks a start once it has rolled for 60 ms. Within the first 30 ms a locate may take the start back.
  private func judge(_ report: Report, wasUnderWay: Bool) {
    if report.song.isRolling, !wasUnderWay {
      (rolling, startedAt) = (0, report.sessionBeat)
    } else if !report.song.isRolling {
      rolling = nil
      if !report.isMoving, studio.plan.startBeat == nil {
        (hasWord, isRetimed, toldBefore) = (false, false, studio.told.count)
      }
    } else if let cycles = rolling {
      rolling = cycles + 1
    }
    guard let cycles = rolling, Double(cycles) * report.moment.cycleMicros > 60_000 else { return }
    rolling = nil
    if hasWord { return }
    judged += 1
    let step = studio.settings.launchStep.value
    let origin = report.sessionBeat - report.song.beat
    let away = origin - (origin / step).rounded() * step
    if abs(away) > 0.001 { breach("grid", "the song is \(away) beats off") }
    if abs(report.song.hostLag) > 0.76 * report.moment.cycleMicros + 300 {
      breach("grid", "late by \(report.song.hostLag) us")
    }
    // A time that a peer has set need not be on a bar.
    guard !isRetimed, studio.isPlaying, isTimeOurs else { return }
    told += 1
    let beat = studio.beat(at: Double(studio.timeOfPlaying.count))
    if abs(beat - startedAt) * report.moment.beatMicros > 2 * report.moment.cycleMicros {
      breach("peers", "were told beat \(beat), and \(startedAt) was played")
    }
  }
}
