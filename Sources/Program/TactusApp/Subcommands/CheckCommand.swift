// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import Link
import Synchronization
import TactusJACK
import TactusJSON5
import TactusOSC
import TactusSurface

/// `tactus check`: measures how much later a sound is heard than JACK says. The sound goes from an output to
/// an input through a cable.
struct CheckCommand: Conversing {
  static let name = "check"
  static let summary = "Measure the sound card's latency through a cable"
  static let description = """
    Connect an output of the sound card to an input, or hold a microphone to the loudspeaker.
    tactus check plays clicks, records them, and says how much later they came back than JACK
    knows. It assumes that half of the error belongs to the outputs; --share sets another share.
    --set makes this part the click's offset, in the running tactus and for its next start.
    """
  static let options: [Option<CheckCommand>] =
    [
      Option(
        "input", "i", in: .other, .value("PORT", .text(320), \.input),
        help: "The port to record from, for instance system:capture_1 (default: the sound card's first)."),
      Option(
        "output", "p", in: .other, .value("PORT", .text(320), \.output),
        help: "The port to play into, for instance system:playback_1 (default: the sound card's first)."),
      Option(
        "seconds", in: .other, .value("N", .whole(2...60), \.seconds),
        help: "How long to play; two clicks a second (default: 5)."),
      Option(
        "share", in: .other, .value("PERCENT", .number(0...100), \.share),
        help:
          "The share of the error, in per cent, that belongs to the outputs; the rest belongs to the inputs (default: 50)."
      ),
      Option("set", in: .other, .flag(\.sets), help: "Make the result the click's offset."),
      Option("json", in: .other, .flag(\.json), help: "Print one line of JSON."),
      Option(
        "server", "s", in: .other, .value("NAME", .text(127), \.server),
        help: "The JACK server (default: as configured)."),
    ] + whereaboutsOptions

  var input: String?
  var output: String?
  var seconds = 5
  var share = 50.0
  var sets = false
  var json = false
  var server: String?
  var whereabouts = Whereabouts()

  func run(_ operands: [String]) throws(UserError) -> Tactus.Status {
    let server = server ?? (try? Startup([]).configuration.server) ?? nil
    let ports = try choosePorts(server)
    let measured = try measure(ports, server)
    let text = json ? measured.json(ports, share: share) : measured.text(ports, share: share)
    guard Console.say(text) else { return .failure }
    return sets ? try set(measured.offset(share: share)) : .success
  }

  private func measure(_ ports: Loopback.Ports, _ server: String?) throws(UserError) -> Measurement {
    let loopback: Loopback
    do throws(Loopback.Failure) {
      loopback = try Loopback(ports, server: server, seconds: seconds)
    } catch {
      throw error.complaint
    }
    let deadline = ContinuousClock.now + .seconds(seconds + 5)
    while !loopback.isOver {
      guard ContinuousClock.now < deadline else { throw UserError("JACK stopped; look at its server") }
      usleep(20_000)
    }
    return try Measurement(loopback.returns(), told: loopback.told, rate: loopback.sampleRate)
  }

  private func choosePorts(_ server: String?) throws(UserError) -> Loopback.Ports {
    // Even if both ports are named, only the survey finds PipeWire.
    let survey: GraphSurvey
    do throws(JACKError) {
      survey = try PipeWireLibrary.survey(server: server)
    } catch {
      throw Loopback.Failure.jack(error).complaint
    }
    guard let output = output ?? survey.outputs.first(where: { !$0.isMIDI })?.name else {
      throw UserError("this server has no sound card's output; name a port with --output")
    }
    guard let input = input ?? survey.physicalInputs.first else {
      throw UserError("this server has no sound card's input; name a port with --input")
    }
    return Loopback.Ports(output: output, input: input)
  }

  /// Sets the click's offset in the running tactus, which remembers it. If no tactus runs, remembers the
  /// offset for the next start.
  private func set(_ offset: Double) throws(UserError) -> Tactus.Status {
    let option = "--click-offset=\(shortest(offset))"
    do throws(UserError) {
      var running = try RunningTactus(whereabouts)
      if (try? running.values()) != nil {
        let message = Message(Table.address("click/offset"), .float64(offset))
        if case .refused(let text) = try running.ask(message) { throw UserError(text) }
        Console.complain("the running tactus now uses \(option), and will at its next start")
        return .success
      }
    } catch {
      throw UserError("the offset was not set: \(error.text)")
    }
    let startup = try Startup([])
    var configuration = startup.configuration
    // This also drops a separate offset of click_2, as the running tactus does.
    Table.standard.choices.first { $0.path == "click/offset" }?.choose(
      &configuration.choices, [.number(offset)])
    let failure = Mutex<String?>(nil)
    let keeper = startup.keeper { text in failure.withLock { $0 = text } }
    keeper.note(configuration, at: Link.clock())
    keeper.close(at: Link.clock())
    if let failure = failure.withLock({ $0 }) { throw UserError(failure) }
    Console.complain("tactus will use \(option) at its next start")
    return .success
  }
}

extension CheckCommand {
  /// The result of the clicks.
  struct Measurement: Equatable {
    let clicks: Int
    let found: Int
    /// In milliseconds: the measured delay, the delay that JACK reports, and the spread of the measured
    /// delays.
    let way: Double
    let told: Double
    let spread: Double
    let peak: Double

    init(_ returns: [LoopbackClicks.Return?], told: (playback: Int, capture: Int), rate: Int)
      throws(UserError)
    {
      let delays = returns.compactMap { $0?.delay }.sorted()
      clicks = returns.count
      found = delays.count
      guard rate > 0, found * 2 > clicks, let first = delays.first, let last = delays.last else {
        throw UserError(
          "\(delays.count) of \(returns.count) clicks came back: is there a cable from the output to the input, and "
            + "is the level up?")
      }
      let milliseconds = 1000 / Double(rate)
      way = Double(delays[delays.count / 2]) * milliseconds
      self.told = Double(told.playback + told.capture) * milliseconds
      spread = Double(last - first) * milliseconds
      peak = returns.compactMap { $0?.peak }.max() ?? 0
    }

    /// By how many milliseconds the sound is later than JACK reports.
    var error: Double { way - told }

    /// The offset in milliseconds, rounded to hundredths: a frame takes about 20 microseconds.
    func offset(share: Double) -> Double { (min(max(error * share / 100, -500), 500) * 100).rounded() / 100 }

    func text(_ ports: Loopback.Ports, share: Double) -> String {
      """
      \(found) of \(clicks) clicks came back from \(ports.output) to \(ports.input), spread over \(spread.hundredths) ms.
      They took \(way.hundredths) ms; JACK says \(told.hundredths) ms: the error is \(error.hundredths) ms.
      With \(shortest(share)) % of it at the outputs, the offset is \(shortest(offset(share: share))) ms (--click-offset, or --set).
      """
    }

    func json(_ ports: Loopback.Ports, share: Double) -> String {
      JSON5.fields([
        "output": .string(ports.output), "input": .string(ports.input), "clicks": .of(clicks),
        "found": .of(found),
        "milliseconds": .of(way), "told": .of(told), "error": .of(error), "spread": .of(spread),
        "peak": .of(peak),
        "offset": .of(offset(share: share)),
      ]).text
    }
  }
}

extension Double {
  fileprivate var hundredths: String { shortest((self * 100).rounded() / 100) }
}

extension Loopback.Failure {
  fileprivate var complaint: UserError {
    switch self {
    case .jack(let error): UserError(error.description, error.isForWantOfServer ? .unavailable : .failure)
    case .noPort(let name): UserError("there is no port \(name.shortened); jack_lsp lists them")
    case .notConnected(let from, let to):
      UserError("JACK does not connect \(from.shortened) to \(to.shortened)")
    }
  }
}
