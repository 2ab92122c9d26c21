// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusOSC
import TactusTestSupport
import Testing

@testable import TactusApp
@testable import TactusSurface

/// The addresses of labels, which are texts for people. All other texts are data: names, addresses and keys.
private let labels: [String] = Table.standard.rows.filter { row in
  guard row.kind == .reading, row.parameters.count == 1, row.each.isEmpty, case .text = row.parameters[0]
  else { return false }
  let data = ["jack/name", "far/key", "far/refused", "peers/list", "version"]
  return !data.contains(row.path)
}.map(\.path)

/// The same values as a tactus with labels in another language would send them.
private func relabelled(_ values: [(row: Node, arguments: [Argument])]) -> [(
  row: Node, arguments: [Argument]
)] {
  values.map { labels.contains($0.row.path) ? ($0.row, [.string("autre chose; (rien), http://x")]) : $0 }
}

private let states: [@Sendable (inout SurfaceState) -> Void] = [
  { _ in },
  {
    $0.doing = .none
    $0.jack.isRunning = false
  },
  { $0.doing = .stopping },
  { $0.jack.timebase = .other("Hydrogen (probably)") },
  {
    $0.jack.timebase = .tactus
    $0.jack.leavesTimebase = true
  },
  {
    $0.choices.lead = .midi
    $0.leading = .midi
    $0.midiClock = .locked(Tempo(97.5))
  },
  {
    $0.choices.lead = .midi
    $0.midiClock = .echo
  },
  {
    $0.choices.lead = .host
    $0.leading = .host
    $0.jack.timebase = .other("ardour")
  },
  {
    $0.page.reach = .network(["http://192.168.7.5:20810/", "http://10.0.0.5:20810/"])
    $0.page.missing = ["no port"]
  },
  { $0.page.reach = .thisMachine("http://127.0.0.1:20810/") },
  { $0.page.reach = .network([]) },
  { ($0.jack.sinks, $0.jack.sinkState) = ("none; no port has the name in jack/sink", .missing) },
  { ($0.jack.sinks, $0.jack.sinkState) = ("system: no JACK program plays", .found) },
  {
    $0.choices.audio.isOn = true
    $0.audio.thread = .realTime
  },
  {
    $0.choices.audio.isOn = true
    $0.audio.thread = .slowed
  },
  {
    $0.choices.audio.isOn = true
    $0.audio.channels = [ShownChannel.State.begins, .plays, .silent, .idle, .absent].map {
      var channel = ShownChannel(name: "Studio/\($0), (x)", isSent: false)
      (channel.state, channel.delayMilliseconds, channel.dropouts) = ($0, 22.1, 3)
      return channel
    }
    var sent = ShownChannel(name: "Voice", isSent: true)
    sent.listeners = 2
    $0.audio.channels += [sent, ShownChannel(name: "Bass", isSent: true)]
  },
  { $0.choices.click.isOn = true },
  {
    $0.far.rooms = [ShownRoom.State.nowhere, .waiting, .ourselves, .proven, .away].map {
      ShownRoom(
        name: "\($0):1", state: $0, roundTripMilliseconds: 7, lossPercent: 0, offsetMilliseconds: 0,
        seen: "203.0.113.7:4711")
    }
  },
  { $0.far.failure = "bind: Address already in use" },
  {
    $0.saving.count = 3
    $0.saving.hasFailed = true
    $0.saving.words = "not saved: the disk is full"
  },
]

@Suite("Nothing depends on the words of a label") struct RelabelledTests {
  private func told(_ number: Int) -> (plain: RemoteValues, relabelled: RemoteValues) {
    var state = SurfaceState()
    state.jack.isRunning = true
    states[number](&state)
    let all = values(of: state, reach: OSCReach(open: ["127.0.0.1:20809"], missing: ["no such address"]))
    return (RemoteValues(all), RemoteValues(relabelled(all)))
  }

  @Test(arguments: states.indices)
  func `a remote view restores the same state if labels are in other words`(number: Int) {
    let (plain, other) = told(number)
    var state = other.state
    // The view shows these texts unchanged, and no program reads them.
    (state.jack.sinks, state.message) = (plain.state.jack.sinks, plain.state.message)
    state.place = plain.state.place  // titles of songs, as the user wrote them
    #expect(state == plain.state)
    #expect(other.state.status == plain.state.status)
    #expect(
      other.state.audio.received == plain.state.audio.received
        && other.state.audio.sent == plain.state.audio.sent)
  }

  @Test(arguments: states.indices)
  func `the doctor and status find the same if labels are in other words`(number: Int) {
    let (plain, other) = told(number)
    func judge(_ told: RemoteValues) -> [Finding] { DoctorCommand.judge(told, port: 20809) }
    #expect(judge(other).map(\.grade) == judge(plain).map(\.grade))
    #expect(judge(other).map(\.topic) == judge(plain).map(\.topic))
    #expect(judge(other).map(\.remedy) == judge(plain).map(\.remedy))
    #expect(
      judge(plain).count { $0.words.contains("203.0.113.7") } == (plain.state.far.heard.isEmpty ? 0 : 1))
  }

  @Test
  func `each state that has a label for people also has a word for programs`() {
    #expect(labels.count > 15 && labels.contains("status") && labels.contains("lead/midi/str"))
    for path in [
      "transport/state", "lead/now", "lead/midi/state", "jack/timebase/kind", "jack/sink/state", "web/reach",
      "audio/thread/kind", "save/outcome", "audio/received/list", "far/rooms",
    ] {
      let words = Table.standard.row(path).map { row in
        (row.parameters + row.each).contains { if case .word = $0 { true } else { false } }
      }
      #expect(words == true, "\(path)")
    }
  }

  @Test
  func `without any value from tactus, the doctor claims nothing`() {
    let told = RemoteValues([])
    #expect(
      told.state.jack.timebase == .unknown && told.state.page.reach == .unknown
        && told.state.status == "unknown")
    #expect(DoctorCommand.judge(told, port: 20809).map(\.grade) == [.good])
    #expect(!StatusCommand.text([]).isEmpty)
  }

  @Test
  func `an unknown state word from a newer tactus is read as "unknown"`() {
    for (path, arguments) in [
      ("transport/state", ["flying"]), ("lead/now", ["moon"]), ("lead/midi/state", ["late", "0"]),
      ("jack/timebase/kind", ["shared", "x"]), ("web/reach", ["moon", "0"]), ("jack/sink/state", ["some"]),
    ] {
      let values: [Argument] = arguments.map { Float($0).map(Argument.float32) ?? .string($0) }
      let told = RemoteValues([(Table.standard.row(path)!, values)])
      #expect(told.state == RemoteState().state, "\(path)")
    }
  }

  @Test
  func `the page's scripts never compare a label`() throws {
    let folder = Lab.top + "/Sources/Control/TactusWeb/Page"
    var isFound = false
    for name in WholeFile.names(in: folder) where name.hasSuffix(".js") {
      let text = String(
        decoding: try WholeFile.read("\(folder)/\(name)", limit: 1_000_000), as: UTF8.self)
      for found in comparedLabels(in: text) { Issue.record("\(name): \(found)") }
      isFound = isFound || text.contains("lead/now")
    }
    #expect(isFound)
    // The search finds comparisons that are planted here.
    for line in [
      #"if (String(value("lead/midi/str", "")).startsWith("echo")) say();"#,
      #"desk.watch("lead/str", ([text]) => ($("x").textContent = text === "Ableton Link" ? 1 : 2));"#,
      "const master = String(value(\"jack/timebase/str\"));\nif (![\"nobody\"].includes(master)) say();",
      "const midi = value(\"status\");\nif (/^stops/.test(midi)) say();",
    ] { #expect(!comparedLabels(in: line).isEmpty, "\(line)") }
  }

  /// The lines that compare, search or match a label, or a constant that was made from a label.
  private func comparedLabels(in text: String) -> [Substring] {
    let isLabel = { (line: Substring) in labels.contains { line.contains("\"\($0)\"") } }
    let lines = text.split(separator: "\n")
    let constants = lines.filter(isLabel).compactMap { line in
      line.firstMatch(of: #/const (\w+) = /#).map { String($0.1) }
    }
    return lines.filter { line in
      let compared = constants.contains { name in
        ["\(name).startsWith(", "\(name).endsWith(", "\(name).includes(", "\(name) ===", "\(name) !=="]
          .contains { line.contains($0) } || line.contains("includes(\(name))")
          || line.contains("test(\(name))")
      }
      // A line may compare a state word and show a label. The label then stands behind the `?` of
      // the condition.
      let before = line.split(separator: " ? ", maxSplits: 1).first ?? line
      let own =
        isLabel(before)
        && ["startsWith(", "endsWith(", ".includes(", ".test(", "=== \"", "!== \""].contains {
          before.contains($0)
        }
      return compared || own
    }
  }
}
