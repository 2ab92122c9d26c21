// SPDX-License-Identifier: GPL-2.0-or-later
import TactusChoices
import Testing

@testable import TactusJACK

/// A graph that a test writes as text: the physical inputs, followed by the connections as `output > input`.
private struct Drawing: SinkGraph {
  var sinks: [String]
  var cables: [(output: String, input: String)] = []
  var terminals: Set<String> = []
  var desktop: Set<String> = []
  var moreOutputs: [String] = []
  var moreInputs: [String] = []

  init(_ sinks: String..., cables: String...) {
    self.sinks = sinks
    for cable in cables { self.cables.append(Self.ends(cable)) }
  }

  static func ends(_ cable: String) -> (output: String, input: String) {
    let ends = cable.split(separator: ">").map { String($0.filter { $0 != " " }) }
    return (ends[0], ends[1])
  }

  mutating func connect(_ cable: String) { cables.append(Self.ends(cable)) }
  mutating func disconnect(_ cable: String) { cables.removeAll { $0 == Self.ends(cable) } }

  var inputs: [String] { sinks + moreInputs + cables.map(\.input).filter { !sinks.contains($0) } }
  func outputs(of client: String) -> [String] {
    (cables.map(\.output) + moreOutputs).filter { $0.hasPrefix(client + ":") }
  }
  func inputs(behind output: String) -> [String] { cables.filter { $0.output == output }.map(\.input) }
  func outputs(before input: String) -> [String] { cables.filter { $0.input == input }.map(\.output) }
  func isTerminal(input: String) -> Bool { terminals.contains(input) }
  func isDesktop(output: String) -> Bool { desktop.contains(output) }

  func choice(
    _ name: String = "", before: SinkChoice = .none, isMoving: Bool = false
  ) -> SinkChoice {
    SinkRule.choose(
      in: self, for: ChosenName(name.utf8)!, clicks: ["tactus:click_1", "tactus:click_2", "tactus:mine"],
      before: before, isMoving: isMoving)
  }
}

@Suite struct SinkRuleTests {
  @Test func `if our click plays, another program's own sink is not chosen`() {
    var studio = Drawing("card:1", "card:2", "bt:1", cables: "tactus:click_1 > card:1", "daw:out > card:2")
    let before = studio.choice()
    #expect(before == SinkChoice(reason: .click("click_1"), ports: ["card:1"]))
    studio.connect("browser:out > bt:1")
    #expect(studio.choice() == before)
  }

  @Test func `the nearest sink that the click reaches is chosen`() {
    var studio = Drawing(
      "card:1", "bt:1", cables: "tactus:click_1 > daw:in", "daw:bus > mixer:in", "mixer:out > card:1")
    #expect(studio.choice().ports == ["card:1"])
    studio.connect("mixer:aux > effect:in")
    studio.connect("effect:out > bt:1")
    #expect(studio.choice().ports == ["card:1"], "a route through more clients moves nothing")
    studio.connect("tactus:click_1 > bt:1")
    #expect(studio.choice().ports == ["bt:1"])
  }

  @Test func `the search for sinks ends in a loop of clients, skips our own inputs`() {
    let studio = Drawing(
      "card:1", "bt:1", cables: "tactus:click_1 > a:in", "a:out > b:in", "b:out > a:in",
      "a:out > tactus:send",
      "tactus:pulse > bt:1")
    #expect(studio.choice() == SinkChoice(reason: .programs, ports: ["bt:1"]))
  }

  /// A click that reaches `card:1` through a row of clients, and a program that plays to `bt:1`.
  private func studio(clientsBehindClick clients: Int) -> Drawing {
    var studio = Drawing("card:1", "bt:1", cables: "tactus:click_1 > c1:in", "daw:out > bt:1")
    for client in 1..<clients { studio.connect("c\(client):out > c\(client + 1):in") }
    studio.connect("c\(clients):out > card:1")
    return studio
  }

  @Test func `a route to a sink through too many clients is not followed`() {
    // tactus itself counts as one of the clients.
    let most = SinkRule.mostClients - 1
    #expect(
      studio(clientsBehindClick: most).choice() == SinkChoice(reason: .click("click_1"), ports: ["card:1"]))
    #expect(
      studio(clientsBehindClick: most + 1).choice()
        == SinkChoice(reason: .programs, ports: ["card:1", "bt:1"]))
  }

  @Test func `a client with too many outputs is no route to a sink`() {
    var studio = Drawing("card:1", "bt:1", cables: "tactus:click_1 > mixer:in", "daw:out > bt:1")
    for output in 1..<SinkRule.mostOutputs { studio.connect("mixer:\(output) > mixer:return") }
    var beyond = studio
    studio.connect("mixer:last > card:1")
    #expect(studio.choice() == SinkChoice(reason: .click("click_1"), ports: ["card:1"]))
    beyond.connect("mixer:another > mixer:return")
    beyond.connect("mixer:last > card:1")
    #expect(beyond.choice() == SinkChoice(reason: .programs, ports: ["card:1", "bt:1"]))
  }

  @Test func `no route to a sink goes through a recorder's terminal input`() {
    var studio = Drawing(
      "card:1", "bt:1", cables: "tactus:click_1 > recorder:in", "recorder:out > bt:1", "daw:out > card:1")
    studio.terminals = ["recorder:in"]
    #expect(studio.choice() == SinkChoice(reason: .programs, ports: ["card:1", "bt:1"]))
  }

  @Test func `if our first click reaches no sink, our next click decides the sinks`() {
    var studio = Drawing("card:1", "bt:1", "usb:1", cables: "tactus:mine > usb:1", "daw:out > card:1")
    #expect(studio.choice() == SinkChoice(reason: .click("mine"), ports: ["usb:1"]))
    studio.connect("tactus:click_2 > bt:1")
    #expect(studio.choice() == SinkChoice(reason: .click("click_2"), ports: ["bt:1"]))
    studio.connect("tactus:click_1 > card:1")
    #expect(studio.choice() == SinkChoice(reason: .click("click_1"), ports: ["card:1"]))
  }

  @Test func `without a click, a desktop program's sink is not chosen`() {
    var studio = Drawing("card:1", "bt:1", cables: "daw:out > card:1")
    let before = studio.choice()
    #expect(before == SinkChoice(reason: .programs, ports: ["card:1"]))
    studio.desktop = ["browser:output_FL"]
    studio.connect("browser:output_FL > bt:1")
    #expect(studio.choice() == before)
    studio.disconnect("daw:out > card:1")
    let alone = studio.choice()
    studio.disconnect("browser:output_FL > bt:1")
    #expect(alone == studio.choice() && alone.reason == .nobody && alone.ports == studio.sinks)
  }

  @Test func `while the transport moves, a new connection changes no chosen sink`() {
    var studio = Drawing("card:1", "bt:1", cables: "daw:out > card:1")
    let first = studio.choice()
    studio.connect("other:out > bt:1")
    let kept = studio.choice(before: first, isMoving: true)
    #expect(kept == SinkChoice(reason: .kept, ports: ["card:1"]))
    studio.connect("tactus:click_1 > bt:1")
    #expect(studio.choice(before: kept, isMoving: true) == kept)
    #expect(studio.choice(before: kept) == SinkChoice(reason: .click("click_1"), ports: ["bt:1"]))
    studio.disconnect("daw:out > card:1")
    #expect(studio.choice(before: kept, isMoving: true).ports == ["bt:1"], "nothing plays there any more")
    studio.sinks = ["bt:1"]
    #expect(studio.choice(before: kept, isMoving: true).ports == ["bt:1"], "a card that was pulled out")
  }

  @Test func `while rolling, the sink of the first program that plays is chosen`() {
    var studio = Drawing("card:1", "bt:1")
    let before = studio.choice()
    studio.connect("daw:out > card:1")
    #expect(studio.choice(before: before, isMoving: true).ports == ["card:1"])
  }

  @Test func `sinks named by client, port or pattern are chosen at once`() {
    var studio = Drawing("card:1", "card:2", "Blue Tooth:1", cables: "tactus:click_1 > card:1")
    studio.moreInputs = ["effects:in"]
    for (name, ports) in [
      ("card", ["card:1", "card:2"]), ("card:2", ["card:2"]), ("Blue*", ["Blue Tooth:1"]),
      ("*:1", ["card:1", "Blue Tooth:1"]), ("effects", ["effects:in"]),
    ] {
      let choice = studio.choice(name, before: studio.choice(), isMoving: true)
      #expect(choice == SinkChoice(reason: .named, ports: ports), "\(name)")
      #expect(studio.choice(before: choice, isMoving: true).ports == ["card:1"])
    }
    let missing = studio.choice("car", isMoving: true)
    #expect(missing == SinkChoice(reason: .click("click_1"), ports: ["card:1"], isNameMissing: true))
    #expect(Drawing().choice("card").ports.isEmpty)
  }

  @Test func `the search for sinks gives up in a vast graph`() {
    var studio = Drawing("card:1", cables: "tactus:click_1 > c0:in")
    for place in 0..<500 { studio.connect("c\(place):out > c\(place + 1):in") }
    studio.connect("c500:out > card:1")
    #expect(studio.choice().reason == .programs)
    var wide = Drawing("card:1")
    for place in 0..<500 { wide.connect("tactus:click_1 > c\(place):in") }
    wide.connect("c7:out > card:1")
    #expect(wide.choice().reason == .programs)
  }

  @Test func `PipeWire's ports of desktop programs are known by their names`() {
    let pipeWire = JACKImplementation(versionString: "3.0.0.0 (using PipeWire 1.4.2)")
    for port in ["Firefox:output_FL", "pw-cat:output_FR", "mpv:output_MONO", "Game:output_AUX11"] {
      #expect(pipeWire.isDesktop(port: port), "\(port)")
      #expect(!JACKImplementation.jack2(version: "1.9.21").isDesktop(port: port), "\(port)")
    }
    for port in [
      "metro:60_bpm", "ardour:Master/audio_out 1", "Hydrogen:out_L", "a:output_l", "output_FL", "a:output_",
    ] {
      #expect(!pipeWire.isDesktop(port: port), "\(port)")
    }
  }
}
