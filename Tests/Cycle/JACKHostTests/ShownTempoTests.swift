// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK
import LinkSystem
import Testing

@testable import TactusJACK

/// The tempo as JACK metadata, and the fraction of a tick: other clients can read both.
extension JACKHostTests {
  /// Reads a property of our client, as programs do that know the properties of jack_transport_link.
  private func property(_ subject: jack_uuid_t, _ key: String = "bpm") -> String? {
    var value: UnsafeMutablePointer<CChar>?
    var type: UnsafeMutablePointer<CChar>?
    guard jack_get_property(subject, ClientProperties.prefix + key, &value, &type) == 0, let value else {
      return nil
    }
    defer {
      jack_free(value)
      jack_free(type)
    }
    return "\(String(cString: value)) \(type.map { String(cString: $0) } ?? "")"
  }

  private func subject(_ client: JACKClient, named name: String) throws -> jack_uuid_t {
    let text = try #require(jack_get_uuid_for_client_name(client.handle, name))
    defer { jack_free(text) }
    var number: jack_uuid_t = 0
    #expect(jack_uuid_parse(text, &number) == 0)
    return number
  }

  @Test func `the tempo is a JACK property of our client until we leave`() async throws {
    let server = try await TestServer()
    let watch = try JACKClient(name: "reader", server: server.name)
    let live = try LiveHost(server)
    let subject = try subject(watch, named: "tactus")
    for tempo in [120.0, 97.5, 140] {
      live.edit { $0.setTempo(tempo, at: HostClock.micros()) }
      var found: String?
      try await live.run {
        found = property(subject)
        return found?.hasPrefix("\(live.session.tempo) ") ?? false
      }
      #expect(found?.hasSuffix(" https://www.w3.org/2001/XMLSchema#decimal") == true, "\(found ?? "none")")
    }
    live.host.shownSession = SessionProperties(oscPort: 9100, isLinkEnabled: true, peers: 2)
    let type = "https://www.w3.org/2001/XMLSchema#"
    try await live.run { property(subject, "osc-port") == "9100 \(type)integer" }
    #expect(property(subject, "linkpeers") == "2 \(type)integer")
    #expect(property(subject, "link/enabled") == "true \(type)boolean")
    live.host.shownSession = SessionProperties(isLinkEnabled: false)
    try await live.run { property(subject, "link/enabled") == "false \(type)boolean" }
    live.host.close()
    // PipeWire's libjack (0.3.65) caches a property that was read once. Only programs that ask later find it
    // gone.
    #expect(TestServer.isPipeWire || property(subject) == nil)
  }

  @Test func `JACK's clients are shown a tick's fraction only on demand`()
    async throws
  {
    let server = try await TestServer()
    let live = try LiveHost(server)
    live.host.wantsTimebase = true
    let watch = try TransportWatch(server)
    try await live.run { live.standing == .master && watch.last.isValid }
    #expect(watch.collected.allSatisfy { $0.fineTick == nil })
    watch.locateByWhatIsShown(to: 480_000)
    try await live.run { watch.last.frame == 480_000 }
    live.change { $0.showsFineTicks = true }
    guard !TestServer.isPipeWire else { return }
    try await live.run(for: 100)
    // Frame 480,007 is not on a tick. jack2 calls its timebase master for a new position, or while the
    // transport rolls.
    live.command(.locate(frame: 480_007))
    try await live.run { watch.last.frame == 480_007 && watch.last.fineTick != nil }
    let last = watch.last
    let fine = try #require(last.fineTick)
    #expect(fine > Double(last.tick) && fine < Double(last.tick) + 1)
    // If the tick's fraction is shown, jack2 ignores such a locate. So the fraction is not shown by default.
    watch.locateByWhatIsShown(to: 960_000)
    try await live.run(for: 200)
    #expect(watch.last.frame == 480_007)
  }
}
