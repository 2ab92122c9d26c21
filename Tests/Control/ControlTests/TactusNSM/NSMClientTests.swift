// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusOSC
import Testing

@testable import TactusNSM

private let manager = Endpoint(.loopback, port: 16_000)

/// The NSM client as a state machine, and the requests that the client makes to the program.
private struct Stage {
  var client = NSMClient(manager: manager)

  init() { client.announce(executable: "tactus", process: 4711, at: .zero) }

  static func joined() -> Stage {
    var stage = Stage()
    _ = stage.outputs()
    stage.receive(
      "/reply", .string("/nsm/server/announce"), .string("hi"), .string("fake"), .string(":dirty:"))
    _ = stage.outputs()
    return stage
  }

  static func open() -> Stage {
    var stage = joined()
    stage.receive(
      "/nsm/client/open", .string("/s/song/tactus.nABCD"), .string("song"), .string("tactus.nABCD"))
    stage.client.opened(.done)
    _ = stage.outputs()
    return stage
  }

  mutating func receive(_ address: String, _ arguments: Argument..., from source: Endpoint = manager) {
    client.receive(Message(address, arguments: arguments), from: source)
  }

  mutating func outputs() -> [NSMClient.Output] {
    var found: [NSMClient.Output] = []
    while let output = client.nextOutput() { found.append(output) }
    return found
  }
}

private func reply(_ address: String, _ text: String) -> NSMClient.Output {
  .send(Message("/reply", .string(address), .string(text)))
}

private func error(_ address: String, _ code: Int32, _ text: String) -> NSMClient.Output {
  .send(Message("/error", .string(address), .int32(code), .string(text)))
}

@Test
func `the NSM client announces itself once, and answers each open and save`()
  throws
{
  var stage = Stage()
  stage.client.announce(executable: "tactus", process: 4711, at: .zero)
  #expect(
    stage.outputs() == [
      .send(
        Message(
          "/nsm/server/announce", .string("tactus"), .string(":dirty:message:"), .string("tactus"), .int32(1),
          .int32(0), .int32(4711)))
    ])
  stage.receive(
    "/reply", .string("/nsm/server/announce"), .string("hi"), .string("fake"), .string(":broadcast:"))
  #expect(stage.outputs() == [.joined(manager: "fake")])
  let project = try Project(path: "/s/song/tactus.nABCD", displayName: "song", clientID: "tactus.nABCD")
  stage.receive("/nsm/client/open", .string(project.path), .string("song"), .string("tactus.nABCD"))
  #expect(stage.outputs() == [.open(project)])
  #expect(stage.client.project == nil)
  stage.client.opened(.done)
  stage.client.opened(.done)
  #expect(stage.outputs() == [reply("/nsm/client/open", "ready")])
  #expect(stage.client.project == project)
  for _ in 1...3 {
    stage.receive("/nsm/client/save")
    #expect(stage.outputs() == [.save])
    stage.client.saved(.done)
    stage.client.saved(.done)
    #expect(stage.outputs() == [reply("/nsm/client/save", "saved")])
  }
  stage.receive("/nsm/client/session_is_loaded")
  #expect(stage.outputs() == [.sessionIsLoaded])
}

@Test
func `if a session manager refuses or does not answer, tactus runs alone`() {
  var silent = Stage()
  _ = silent.outputs()
  silent.client.tick(at: Micros(4_999_999))
  #expect(silent.outputs() == [])
  silent.client.tick(at: Micros(5_000_000))
  silent.client.tick(at: Micros(6_000_000))
  #expect(silent.outputs() == [.alone(reason: "the session manager does not answer")])
  // This `open` comes too late: a JACK client with another name exists by now.
  silent.receive("/reply", .string("/nsm/server/announce"), .string("hi"), .string("fake"), .string(""))
  silent.receive("/nsm/client/open", .string("/a/b"), .string("b"), .string("c"))
  silent.receive("/nsm/client/save")
  #expect(silent.outputs() == [] && silent.client.counters.ignored == 3)

  var refused = Stage()
  _ = refused.outputs()
  refused.receive("/error", .string("/nsm/server/announce"), .int32(-2), .string("too old"))
  #expect(refused.outputs() == [.alone(reason: "the session manager refuses: too old")])
}

@Test
func `tactus waits for a session manager's open, and reports that once`() {
  var stage = Stage.joined()
  for second in 0...4 { stage.client.tick(at: Micros(Int64(second) * 1_000_000)) }
  #expect(stage.outputs() == [])
  for second in 5...20 { stage.client.tick(at: Micros(Int64(second) * 1_000_000)) }
  #expect(stage.outputs() == [.stillWaiting])
  stage.receive("/nsm/client/open", .string("/s/song/tactus.nABCD"), .string("song"), .string("tactus.nABCD"))
  guard case .open? = stage.outputs().first else {
    Issue.record("it was not opened")
    return
  }
}

@Test
func `NSM failures have the protocol's codes, and another open may follow`() throws {
  var stage = Stage.joined()
  let open: [Argument] = [.string("/s/a"), .string("a"), .string("t")]
  for (failure, code) in [
    (NSMClient.Failure.badProject("line 3"), Int32(-9)), (.cannotCreate("full"), -10),
    (.general("no JACK"), -1),
  ] {
    stage.client.receive(Message("/nsm/client/open", arguments: open), from: manager)
    stage.client.opened(.failed(failure))
    #expect(stage.outputs().last == error("/nsm/client/open", code, failure.text))
  }
  stage.client.receive(Message("/nsm/client/open", arguments: open), from: manager)
  stage.client.opened(.done)
  _ = stage.outputs()
  stage.client.changed(true)
  stage.receive("/nsm/client/save")
  stage.client.saved(.failed(.general("disk full")))
  #expect(
    stage.outputs() == [
      .send(Message("/nsm/client/is_dirty")), .save, error("/nsm/client/save", -1, "disk full"),
    ])
  // The project has unsaved changes, so the client has not reported it as clean.
  stage.receive("/nsm/client/save")
  stage.client.saved(.done)
  #expect(
    stage.outputs() == [.save, reply("/nsm/client/save", "saved"), .send(Message("/nsm/client/is_clean"))])
}

@Test
func `a session manager's request at the wrong time is refused with a reason`() {
  var stage = Stage.joined()
  stage.receive("/nsm/client/save")
  #expect(stage.outputs() == [error("/nsm/client/save", -6, "no project is open")])
  stage.receive("/nsm/client/open", .string("/s/a"), .string("a"), .string("t"))
  _ = stage.outputs()
  stage.receive("/nsm/client/open", .string("/s/b"), .string("b"), .string("t"))
  stage.receive("/nsm/client/save")
  let busy = "still busy with the last request"
  #expect(
    stage.outputs() == [error("/nsm/client/open", -8, busy), error("/nsm/client/save", -8, busy)])
  stage.client.opened(.done)
  _ = stage.outputs()
  stage.receive("/nsm/client/open", .string("/s/b"), .string("b"), .string("t"))
  #expect(
    stage.outputs() == [
      error("/nsm/client/open", -8, "one project at a time; start tactus again for another")
    ])
  stage.receive("/nsm/client/save")
  stage.receive("/nsm/client/save")
  #expect(stage.outputs() == [.save, error("/nsm/client/save", -8, busy)])
}

@Test
func `the NSM client obeys only its manager's port and addresses`() {
  var stage = Stage.open()
  for source in [
    Endpoint(.loopback, port: 16_001), Endpoint(Address.v4(0xC0A8_0001), port: 16_000),
    Endpoint(Address.v6(high: 0xfe80 << 48, low: 1, scope: 0), port: 16_000),
  ] {
    stage.receive("/nsm/client/save", from: source)
    stage.receive("/nsm/client/open", .string("/x"), .string("x"), .string("x"), from: source)
  }
  #expect(stage.outputs() == [] && stage.client.counters.strangers == 6)
  stage.receive("/nsm/client/save", from: Endpoint(Address.v4(0x7f00_0101), port: 16_000))
  #expect(stage.outputs() == [.save])
  // A manager on the network has only one address: a message from loopback does not come from it.
  var remote = NSMClient(manager: Endpoint(Address.v4(0xC0A8_0001), port: 16_000))
  remote.receive(Message("/nsm/client/save"), from: manager)
  #expect(remote.counters.strangers == 1)
}

@Test(arguments: [
  ("song", "t"), ("", "t"), ("/", "t"), ("/s/../../etc/cron.d/x", "t"), ("/s/./x", "t"),
  ("/s/a\u{1b}[2J", "t"),
  ("/s/a\n", "t"), ("/" + String(repeating: "x", count: 4001), "t"), ("/s/a", ""), ("/s/a", "a:b"),
  ("/s/a", "a/b"), ("/s/a", "a\u{7f}"), ("/s/a", String(repeating: "x", count: 64)),
])
func `an unsafe path or name from a session manager is refused at once`(
  path: String, identifier: String
) {
  var stage = Stage.joined()
  stage.receive("/nsm/client/open", .string(path), .string("song"), .string(identifier))
  let outputs = stage.outputs()
  guard case .send(let message) = outputs.first, outputs.count == 1 else {
    Issue.record("\(outputs)")
    return
  }
  #expect(message.address == "/error" && message.arguments[1] == .int32(-9))
}

@Test
func `NSM messages with a wrong number or type of arguments are refused`() {
  var stage = Stage.joined()
  let shapes: [[Argument]] = [
    [], [.string("/s/a")], [.string("/s/a"), .string("a")], [.int32(1), .float32(2), .null],
    [.string("/s/a"), .string("a"), .int64(3)],
  ]
  for arguments in shapes {
    stage.client.receive(Message("/nsm/client/open", arguments: arguments), from: manager)
    let refusal = error("/nsm/client/open", -1, "/nsm/client/open needs path, name and client ID as text")
    #expect(stage.outputs() == [refusal], "\(arguments)")
  }
  for address in [
    "/reply", "/error", "/nsm/client/show_optional_gui", "/nsm/client/hide_optional_gui", "/", "/x",
  ] {
    stage.client.receive(Message(address), from: manager)
  }
  #expect(stage.outputs() == [] && stage.client.counters.ignored == 6)
}

@Test
func `each change goes to the session manager once, while a project is open`() {
  var stage = Stage.joined()
  stage.client.changed(true)
  stage.client.show(label: "1 Link")
  stage.client.tell("too early", priority: 1)
  #expect(stage.outputs() == [])
  stage = Stage.open()
  for value in [false, true, true, false, false, true] { stage.client.changed(value) }
  for label in ["", "1 Link", "1 Link", "2 Links"] { stage.client.show(label: label) }
  stage.client.tell("JACK server gone", priority: 9)
  #expect(
    stage.outputs() == [
      .send(Message("/nsm/client/is_dirty")), .send(Message("/nsm/client/is_clean")),
      .send(Message("/nsm/client/is_dirty")), .send(Message("/nsm/client/label", .string("1 Link"))),
      .send(Message("/nsm/client/label", .string("2 Links"))),
      .send(Message("/nsm/client/message", .int32(3), .string("JACK server gone"))),
    ])
}

@Test
func `an NSM client's outputs that are not fetched are limited and counted`() {
  var stage = Stage.joined()
  for _ in 1...200 { stage.receive("/nsm/client/save") }
  #expect(stage.outputs().count == NSMClient.outputLimit)
  #expect(stage.client.counters.ignored == 200 - NSMClient.outputLimit)
}
