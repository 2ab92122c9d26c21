// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import LinkWorld
import StudioDay

/// What the user asked for.
struct Arguments: Sendable {
  enum Task { case help, one, many, growth, day }

  struct Refusal: Error {
    let text: String
  }

  var task = Task.one
  var seed: UInt64 = 1
  var isSeedGiven = false
  var runs = 1
  var jobs = 1
  var peers: ClosedRange<Int>?
  var svg: String?
  var hours: Double?
  var isNight = false
  var sampleRate: Int?
  var frames: Int?
  var plant: Plant?
  /// For one world; in a campaign they are the worst that is drawn.
  var loss: Double?
  var delay: Micros?
  var jitter: Micros?
  var reordering: Double?
  var duplication: Double?
  var drift: Double?
  var arrival: Micros?
  var turmoil: Micros?
  var watch: Micros?
  var edits: Double?
  var churn: Double?
  var partitions: Int?
  var clockSteps: Int?
  var hostility: Double?
  var doubleHomed: Double?
  var wires: Int?
  var references: Int?

  static let help = """
    LinkSimulator: many Link peers on a virtual network, from a seed.

    One world:        LinkSimulator [--peers 1000] [--seed 7] [trouble] [--svg phase.svg]
    Many worlds:      LinkSimulator --runs 10000 [--peers 2-16] [--jobs 2] [worst trouble]
                      Each world draws its own trouble, up to the worst that is given.
    One of the many:  LinkSimulator --replay 4711 [--peers 2-16] [worst trouble] [--svg phase.svg]
    What it costs:    LinkSimulator --growth [trouble]     2, 4, 8 ... 1000 peers
    A day:            LinkSimulator --day [--hours 24] [--seed 7] [--peers 6] [--plant FAULT]
                      Trouble and peace in turn; on the first peer's machine a JACK server with tactus's audio cycle,
                      whose every click and MIDI clock is counted.
    A night:          LinkSimulator --night [--hours 13] [--rate 192000] [--frames 1024]
                      The same while nobody touches anything: one tempo, and a transport that rolls.

      --seed N          the world's seed, or the first of many (1)
      --peers N, N-M    how many peers (4; of many worlds 2-16)
      --arrival S       seconds within which they are switched on (5)
      --turmoil S       seconds of trouble before peace (20)
      --watch S         seconds of peace that are listened to (10)
      --jobs N          worlds played at once (1)
      --svg FILE        draw the phase error over time
      --hours H         how long the day is (24)
      --rate HZ, --frames N   of the JACK server (48000, 256)
      --plant FAULT     every thousandth is spoilt, which must be found: \(plants)

    Trouble:
      --loss P          per cent of all datagrams (0; worst of many 30)
      --delay MS        milliseconds every datagram takes (0.2)
      --jitter MS       milliseconds more, at random (0; worst of many 20)
      --reordering P    per cent held up by up to 30 ms
      --duplication P   per cent that arrive twice
      --drift PPM       clocks fast or slow by up to this (0; worst of many 100)
      --edits R         changes of tempo and starts or stops per second
      --churn R         peers that leave or lose their cable, and come back, per second
      --partitions N    cuts through the network
      --steps N         clocks that step by up to 3 s; in many worlds, any number turns steps on
      --hostility R     floods, forgeries, replays, wounded packets per second; in many worlds, any turns them on
      --two-wires P     per cent of peers with two addresses
      --wires N         a chain of wires, with a peer on each two neighbours (1; worst of many 1)
      --references N    peers that believe what the reference believes; of many, some worlds with attackers have them

    Exit status: 0 if every invariant was kept, 1 if not, 2 if the options make no sense.
    """

  private static let plants = Plant.allCases.map(\.rawValue).joined(separator: ", ")

  static func parse(_ words: [String]) -> Result<Arguments, Refusal> {
    var arguments = Arguments()
    var index = 0
    while index < words.count {
      let word = words[index]
      index += 1
      if word == "--help" || word == "-h" {
        arguments.task = .help
        return .success(arguments)
      }
      if word == "--growth" {
        arguments.task = .growth
        continue
      }
      if word == "--day" || word == "--night" {
        arguments.task = .day
        arguments.isNight = word == "--night"
        continue
      }
      guard index < words.count else {
        return .failure(Refusal(text: "\(word) is not an option, or lacks its value"))
      }
      if let refusal = arguments.take(word, words[index]) { return .failure(refusal) }
      index += 1
    }
    return .success(arguments)
  }

  private mutating func take(_ option: String, _ value: String) -> Refusal? {
    let isTaken: Bool
    switch option {
    case "--seed":
      isTaken = set(\.seed, UInt64(value))
    case "--replay":
      isTaken = set(\.seed, UInt64(value))
      isSeedGiven = true
      if task == .one { task = .many }
    case "--runs":
      isTaken = set(\.runs, whole(value, in: 1...10_000_000))
      task = .many
    case "--jobs": isTaken = set(\.jobs, whole(value, in: 1...64))
    case "--peers": isTaken = takePeers(value)
    case "--svg":
      svg = value
      isTaken = !value.isEmpty
    case "--hours": isTaken = set(\.hours, number(value, in: 0.05...1000))
    case "--rate": isTaken = set(\.sampleRate, whole(value, in: 8_000...384_000))
    case "--frames": isTaken = set(\.frames, whole(value, in: 16...8_192))
    case "--plant": isTaken = set(\.plant, Plant(rawValue: value))
    case "--loss": isTaken = set(\.loss, number(value, in: 0...100).map { $0 / 100 })
    case "--reordering": isTaken = set(\.reordering, number(value, in: 0...100).map { $0 / 100 })
    case "--duplication": isTaken = set(\.duplication, number(value, in: 0...100).map { $0 / 100 })
    case "--two-wires": isTaken = set(\.doubleHomed, number(value, in: 0...100).map { $0 / 100 })
    case "--delay": isTaken = set(\.delay, millis(value))
    case "--jitter": isTaken = set(\.jitter, millis(value))
    case "--drift": isTaken = set(\.drift, number(value, in: 0...10_000))
    case "--arrival": isTaken = set(\.arrival, seconds(value))
    case "--turmoil": isTaken = set(\.turmoil, seconds(value))
    case "--watch": isTaken = set(\.watch, seconds(value))
    case "--edits": isTaken = set(\.edits, number(value, in: 0...1000))
    case "--wires": isTaken = set(\.wires, whole(value, in: 1...16))
    case "--references": isTaken = set(\.references, whole(value, in: 0...100))
    case "--churn": isTaken = set(\.churn, number(value, in: 0...1000))
    case "--hostility": isTaken = set(\.hostility, number(value, in: 0...1000))
    case "--partitions": isTaken = set(\.partitions, whole(value, in: 0...1000))
    case "--steps": isTaken = set(\.clockSteps, whole(value, in: 0...1000))
    default: return Refusal(text: "\(option) is not an option")
    }
    return isTaken ? nil : Refusal(text: "\(option): \(value) is not possible")
  }

  private mutating func set<Value>(_ field: WritableKeyPath<Arguments, Value>, _ value: Value?) -> Bool {
    guard let value else { return false }
    self[keyPath: field] = value
    return true
  }

  private mutating func set<Value>(_ field: WritableKeyPath<Arguments, Value?>, _ value: Value?) -> Bool {
    self[keyPath: field] = value
    return value != nil
  }

  private mutating func takePeers(_ value: String) -> Bool {
    let ends = value.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
    guard ends.count <= 2, let low = ends[0], let high = ends[ends.count - 1], low >= 1, low <= high,
      high <= 10_000
    else { return false }
    peers = low...high
    return true
  }

  private func whole(_ text: String, in range: ClosedRange<Int>) -> Int? {
    Int(text).flatMap { range.contains($0) ? $0 : nil }
  }

  private func number(_ text: String, in range: ClosedRange<Double>) -> Double? {
    Double(text).flatMap { range.contains($0) ? $0 : nil }
  }

  private func millis(_ text: String) -> Micros? {
    number(text, in: 0...60_000).map { Micros(rounding: $0 * 1_000) }
  }

  private func seconds(_ text: String) -> Micros? {
    number(text, in: 0...86_400).map { Micros(rounding: $0 * 1_000_000) }
  }
}

extension Arguments {
  /// The one world that was described.
  func scenario(peers count: Int) -> Scenario {
    var scenario = Scenario(seed: seed)
    scenario.peers = count
    scenario.conditions.loss = loss ?? 0
    scenario.conditions.delay = delay ?? scenario.conditions.delay
    scenario.conditions.jitter = jitter ?? .zero
    scenario.conditions.reordering = reordering ?? 0
    scenario.conditions.duplication = duplication ?? 0
    scenario.drift = drift ?? 0
    scenario.arrival = arrival ?? scenario.arrival
    scenario.turmoil = turmoil ?? scenario.turmoil
    scenario.watch = watch ?? scenario.watch
    scenario.edits = edits ?? 0
    scenario.churn = churn ?? 0
    scenario.partitions = partitions ?? 0
    scenario.clockSteps = clockSteps ?? 0
    scenario.hostility = hostility ?? 0
    scenario.doubleHomed = doubleHomed ?? 0
    scenario.wires = wires ?? 1
    scenario.references = references ?? 0
    return scenario
  }

  /// One day.
  var dayPlan: Day.Plan {
    var plan = Day.Plan(seed: seed)
    if let hours { plan.length = Micros(rounding: hours * 3_600e6) }
    if let peers { plan.peers = peers.upperBound }
    if let sampleRate { plan.sampleRate = UInt32(sampleRate) }
    if let frames { plan.frames = UInt32(frames) }
    plan.isNight = isNight
    plan.plant = plant
    return plan
  }

  /// One of many worlds.
  func drawn(_ seed: UInt64) -> Scenario {
    var worst = Scenario.Severity()
    worst.peers = peers ?? worst.peers
    worst.loss = loss ?? worst.loss
    worst.jitter = jitter ?? worst.jitter
    worst.drift = drift ?? worst.drift
    worst.isHostile = (hostility ?? 0) > 0
    worst.wires = wires ?? worst.wires
    worst.stepsClocks = (clockSteps ?? 0) > 0
    var scenario = Scenario.drawn(from: seed, upTo: worst)
    scenario.turmoil = turmoil ?? scenario.turmoil
    scenario.watch = watch ?? scenario.watch
    return scenario
  }

  /// What to type to see this world again.
  func replay(_ seed: UInt64) -> String {
    var words = ["LinkSimulator --replay \(seed)"]
    if let peers { words.append("--peers \(peers.lowerBound)-\(peers.upperBound)") }
    if let loss { words.append("--loss \((loss * 100).rounded(toPlaces: 3))") }
    if let jitter { words.append("--jitter \(jitter.millis)") }
    if let drift { words.append("--drift \(drift.rounded(toPlaces: 3))") }
    if let wires { words.append("--wires \(wires)") }
    if let turmoil { words.append("--turmoil \(turmoil.seconds)") }
    if let watch { words.append("--watch \(watch.seconds)") }
    if (hostility ?? 0) > 0 { words.append("--hostility 1") }
    if (clockSteps ?? 0) > 0 { words.append("--steps 1") }
    return words.joined(separator: " ")
  }
}
