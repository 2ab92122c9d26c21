// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusJSON5
import TactusMIDI
import TactusOSC
import Testing

@testable import TactusApp
@testable import TactusSurface

/// Two new settings, each declared by a single row of the command table. Tests of HostSync (`Gates`) test the
/// effect of such settings in a cycle.
extension Choice {
  fileprivate static let pulseWhen = Choice(
    "pulse/when", \.pulse.when, "Pulses that are on come always, or only while the transport rolls.",
    in: .outputs)
  fileprivate static let humour = Choice(
    "pulse/humour", \.clock.settle, "What it is good for.", within: .number(0...9, unit: "ms"), in: .outputs,
    isRemembered: true)
}

@Suite("A choice is one row")
struct NewChoiceTests {
  private let table = Table.standard.adding(.pulseWhen).adding(.humour)
  private var options: [Option<Configuration>] { Configuration.options(of: table) }
  private var outline: CommandOutline {
    CommandOutline(options: options)
  }

  @Test
  func `a new row gives an option whose value reaches the audio settings`() throws {
    var configuration = Configuration()
    _ = try OptionParser(options: options).parse(["--pulse-when=rolling"], into: &configuration)
    #expect(configuration.choices.pulse.when == .rolling)
    #expect(throws: UserError("--pulse-when takes always or rolling, not \"never\"")) {
      try OptionParser(options: options).parse(["--pulse-when", "never"], into: &configuration)
    }
    #expect(HelpText(options: options).text.contains("--pulse-when=always|rolling"))
  }

  @Test
  func `a new row gives a key of the configuration and of the state file`() throws {
    let keys = ConfigurationKeys(options)
    var configuration = Configuration()
    try keys.apply(
      try JSON5.document(Array("{'pulse-when': 'rolling'}".utf8), from: ""), of: "", to: &configuration)
    #expect(configuration.choices.pulse.when == .rolling)
    #expect(keys.values(of: configuration).first { $0.key == "pulse-when" }?.value.text == "\"rolling\"")
    let kept = ConfigurationKeys(options.filter(\.isRemembered)).values(of: configuration).map(\.key)
    #expect(kept.contains("pulse-humour") && !kept.contains("pulse-when"))
  }

  @Test
  func `a new row is in the man page and in every shell's completion`() {
    let page = ManualPage.options(of: outline)
    #expect(page.contains("\\-\\-pulse\\-when") && page.contains("only while the transport rolls"))
    for text in [
      BashCompletion.text(of: outline), ZshCompletion.text(of: outline), FishCompletion.text(of: outline),
    ] {
      #expect(text.contains("pulse-when") && text.contains("always rolling"))
    }
    #expect(table.helpText.contains("pulse/when  s: always, rolling"))
    #expect(table.markdown.contains("| `pulse/when` |"))
    #expect(table.manPage(version: "1").contains("pulse/when"))
  }

  @Test
  func `a new row gives an OSC address, with buttons and OSCQuery`() throws {
    var settings = SurfaceSettings()
    settings.table = table
    let peer = Peer(Endpoint(.loopback, port: 40_000))
    let clocks = Clocks(host: Micros(1_000_000), unixSeconds: 1_700_000_000, nanoseconds: 0)
    var state = SurfaceState()
    var machine = SurfaceMachine(settings, state: state, clocks: clocks)
    func send(_ message: Message) -> [String] {
      LibloCodec.encode(message).withUnsafeBytes { _ = machine.receive($0, from: peer, clocks: clocks) }
      var told: [String] = []
      while let output = machine.nextOutput() {
        switch output {
        case .order(let order):
          guard case .choose(let choice, let values) = order.command else { continue }
          choice.choose(&state.choices, values)
        case .send(let bytes, _):
          bytes.withUnsafeBytes { raw in
            if let message = LibloCodec.decode(raw) {
              told.append("\(message.address) \(message.arguments.map(\.words))")
            }
          }
        case .notice, .outward, .learned, .queued: break
        }
      }
      machine.update(state, clocks: clocks)
      return told
    }
    _ = send(Message("/tactus/pulse/when", .string("rolling")))
    #expect(state.choices.pulse.when == .rolling)
    #expect(send(Message("/tactus/pulse/when")) == ["/tactus/pulse/when [\"\\\"rolling\\\"\"]"])
    _ = send(Message("/tactus/pulse/when/always"))
    #expect(state.choices.pulse.when == .always)
    #expect(table.objection(to: try #require(MIDIBinding("note 1 = pulse/when rolling")).targets) == nil)
    let answer = QueryTree(table: table).answer(
      path: "/tactus/pulse/when", query: nil, SurfaceSnapshot(reading: machine.reading),
      at: QueryTree.Place(web: 1))
    #expect(answer.status == 200 && answer.body.contains("\"VALS\":[\"always\",\"rolling\"]"))
  }

  @Test
  func `each option is spelt like its OSC address`() {
    let names = Set(Configuration.options.map(\.long))
    for choice in Table.standard.choices {
      #expect(names.contains(choice.name) != choice.isMomentary, "\(choice.path)")
      #expect(choice.path.utf8.allSatisfy { $0 != UInt8(ascii: "-") }, "\(choice.path)")
    }
  }
}
