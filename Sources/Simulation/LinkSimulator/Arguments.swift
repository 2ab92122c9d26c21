// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWorld
import TactusStudioDay

/// The options of the command line.
struct Arguments: Sendable {
  enum Task { case help, one, many, growth, day, fiveNodes }

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
  /// Whether each of the many worlds consists of rooms far apart.
  private var isFar = false
  /// The settings of a single world, and the limits for the settings of many drawn worlds.
  private var trouble = Scenario(seed: 1)
  private var worst = Scenario.Severity()
  /// The durations for one of many worlds; nil: the drawn durations.
  private var turmoil: Micros?
  private var watch: Micros?
  private var day = Day.Plan(seed: 1)
  /// The options that, together with the seed, replay one of many worlds.
  private var replayed: [String] = []

  static let help = """
    LinkSimulator: many Link peers on a virtual network, from a seed.

    One world:        LinkSimulator [--peers 1000] [--seed 7] [trouble] [--svg phase.svg]
    Many worlds:      LinkSimulator --runs 10000 [--peers 2-16] [--jobs 2] [worst trouble] [--svg curves.svg]
                      Each world draws its own trouble, up to the worst that is given.
    One of the many:  LinkSimulator --replay 4711 [--peers 2-16] [worst trouble] [--svg phase.svg]
    What it costs:    LinkSimulator --growth [trouble]     2, 4, 8 ... 1000 peers
    A day:            LinkSimulator --day [--hours 24] [--seed 7] [--peers 6] [--plant FAULT]
                      Trouble and peace in turn; on the first peer's machine a JACK server with tactus's audio cycle,
                      whose every click and MIDI clock is counted.
    Five nodes:       LinkSimulator --five-nodes [--runs 10] [--seed 7]
                      X. Riley's table of 2018, with the reference's rules and with relays and far wires.
    A night:          LinkSimulator --night [--hours 13] [--rate 192000] [--frames 1024]
                      The same while nobody touches anything: one tempo, and a transport that rolls.

      --seed N          the world's seed, or the first of many (1)
      --peers N, N-M    how many peers (4; of many worlds 2-16)
      --arrival S       seconds within which they are switched on (5)
      --turmoil S       seconds of trouble before peace (20)
      --watch S         seconds of peace that are listened to (10)
      --jobs N          worlds played at once (1)
      --svg FILE        draw the phase error over time; of many worlds, how many had how much of it
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
      --far             rooms far apart, and a relay in each: up to three, 1 to 250 ms each way, jitter to 40 ms, loss to 10 %, cuts
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
      if word == "--growth" || word == "--five-nodes" {
        arguments.task = word == "--growth" ? .growth : .fiveNodes
        continue
      }
      if word == "--day" || word == "--night" {
        arguments.task = .day
        arguments.day.isNight = word == "--night"
        continue
      }
      if word == "--far" {
        arguments.isFar = true
        if arguments.task == .one { arguments.task = .many }
        arguments.replayed.append(word)
        continue
      }
      guard index < words.count else {
        return .failure(Refusal(text: "\(word) is not an option, or lacks its value"))
      }
      if let refusal = arguments.parse(word, words[index]) { return .failure(refusal) }
      index += 1
    }
    return .success(arguments)
  }

  private mutating func parse(_ option: String, _ value: String) -> Refusal? {
    let isTaken: Bool
    switch option {
    case "--seed":
      isTaken = set(UInt64(value), \.seed)
    case "--replay":
      isTaken = set(UInt64(value), \.seed)
      isSeedGiven = true
      if task == .one { task = .many }
    case "--runs":
      isTaken = set(whole(value, in: 1...10_000_000), \.runs)
      if task != .fiveNodes { task = .many }
    case "--jobs": isTaken = set(whole(value, in: 1...64), \.jobs)
    case "--peers": isTaken = takePeers(value)
    case "--svg":
      svg = value
      isTaken = !value.isEmpty
    case "--hours":
      isTaken = set(number(value, in: 0.05...1000).map { Micros(rounding: $0 * 3_600e6) }, \.day.length)
    case "--rate": isTaken = set(whole(value, in: 8_000...384_000).map { UInt32($0) }, \.day.sampleRate)
    case "--frames": isTaken = set(whole(value, in: 16...8_192).map { UInt32($0) }, \.day.frames)
    case "--plant": isTaken = set(Plant(rawValue: value).map(Optional.some), \.day.plant)
    default:
      guard let isPossible = parseWorld(option, value) else {
        return Refusal(text: "\(option) is not an option")
      }
      isTaken = isPossible
    }
    if Self.ofMany.contains(option) { replayed += [option, value] }
    return isTaken ? nil : Refusal(text: "\(option): \(value) is not possible")
  }

  /// Reads an option about the network and the peers of one world. Returns nil if there is no such option.
  private mutating func parseWorld(_ option: String, _ value: String) -> Bool? {
    switch option {
    case "--loss": return set(percent(value), \.trouble.conditions.loss, \.worst.loss)
    case "--reordering": return set(percent(value), \.trouble.conditions.reordering)
    case "--duplication": return set(percent(value), \.trouble.conditions.duplication)
    case "--two-wires": return set(percent(value), \.trouble.doubleHomed)
    case "--delay": return set(millis(value), \.trouble.conditions.delay)
    case "--jitter": return set(millis(value), \.trouble.conditions.jitter, \.worst.jitter)
    case "--drift": return set(number(value, in: 0...10_000), \.trouble.drift, \.worst.drift)
    case "--arrival": return set(seconds(value), \.trouble.arrival)
    case "--turmoil": return set(seconds(value), \.trouble.turmoil) && set(trouble.turmoil, \.turmoil)
    case "--watch": return set(seconds(value), \.trouble.watch) && set(trouble.watch, \.watch)
    case "--edits": return set(number(value, in: 0...1000), \.trouble.edits)
    case "--wires": return set(whole(value, in: 1...16), \.trouble.wires, \.worst.wires)
    case "--references": return set(whole(value, in: 0...100), \.trouble.references)
    case "--churn": return set(number(value, in: 0...1000), \.trouble.churn)
    case "--hostility":
      defer { worst.isHostile = trouble.hostility > 0 }
      return set(number(value, in: 0...1000), \.trouble.hostility)
    case "--partitions": return set(whole(value, in: 0...1000), \.trouble.partitions)
    case "--steps":
      defer { worst.stepsClocks = trouble.clockSteps > 0 }
      return set(whole(value, in: 0...1000), \.trouble.clockSteps)
    default: return nil
    }
  }

  /// The options that limit the troubles and durations that may be drawn for many worlds.
  private static let ofMany = [
    "--peers", "--loss", "--jitter", "--drift", "--wires", "--turmoil", "--watch", "--hostility", "--steps",
  ]

  private mutating func set<Value>(_ value: Value?, _ fields: WritableKeyPath<Arguments, Value>...) -> Bool {
    guard let value else { return false }
    for field in fields { self[keyPath: field] = value }
    return true
  }

  private mutating func takePeers(_ value: String) -> Bool {
    let ends = value.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
    guard ends.count <= 2, let low = ends[0], let high = ends[ends.count - 1], low >= 1, low <= high,
      high <= 10_000
    else { return false }
    peers = low...high
    worst.peers = low...high
    day.peers = high
    return true
  }

  private func whole(_ text: String, in range: ClosedRange<Int>) -> Int? {
    Int(text).flatMap { range.contains($0) ? $0 : nil }
  }

  private func number(_ text: String, in range: ClosedRange<Double>) -> Double? {
    Double(text).flatMap { range.contains($0) ? $0 : nil }
  }

  private func percent(_ text: String) -> Double? { number(text, in: 0...100).map { $0 / 100 } }

  private func millis(_ text: String) -> Micros? {
    number(text, in: 0...60_000).map { Micros(rounding: $0 * 1_000) }
  }

  private func seconds(_ text: String) -> Micros? {
    number(text, in: 0...86_400).map { Micros(rounding: $0 * 1_000_000) }
  }
}

extension Arguments {
  /// The single world that the options describe.
  func scenario(peers count: Int) -> Scenario {
    var scenario = trouble
    (scenario.seed, scenario.peers) = (seed, count)
    return scenario
  }

  /// The plan of the day that the options describe.
  var dayPlan: Day.Plan {
    var plan = day
    plan.seed = seed
    return plan
  }

  /// The world that is drawn from this seed.
  func drawn(_ seed: UInt64) -> Scenario {
    var scenario = isFar ? Scenario.rooms(from: seed, upTo: worst) : Scenario.drawn(from: seed, upTo: worst)
    scenario.turmoil = turmoil ?? scenario.turmoil
    scenario.watch = watch ?? scenario.watch
    return scenario
  }

  /// The command that replays this world.
  func replay(_ seed: UInt64) -> String {
    (["LinkSimulator --replay \(seed)"] + replayed).joined(separator: " ")
  }
}
