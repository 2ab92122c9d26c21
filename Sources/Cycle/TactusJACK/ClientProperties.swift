// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK
import LinkBeatMath

/// The properties, beside the tempo, that our JACK client shows to other programs.
public struct SessionProperties: Hashable, Sendable {
  /// The UDP port at which tactus obeys OSC; nil: there is no such port.
  public var oscPort: Int?
  public var isLinkEnabled: Bool
  public var peers: Int

  public init(oscPort: Int? = nil, isLinkEnabled: Bool = false, peers: Int = 0) {
    (self.oscPort, self.isLinkEnabled, self.peers) = (oscPort, isLinkEnabled, peers)
  }
}

/// Metadata properties of our client, under the keys of jack_transport_link: RNBO's runner, patchbays and
/// scripts read them. The property of the tempo exists even while the transport stands, no matter which
/// client is timebase master. [control]
struct ClientProperties {
  private struct Content: Equatable {
    var tempo: Double
    var session: SessionProperties
  }

  static let prefix = "http://www.x37v.info/jack/metadata/"
  private static let types = "https://www.w3.org/2001/XMLSchema#"
  /// The least time between two writes. The server notifies every client of each change, so the property
  /// follows a tempo ramp in steps.
  private static let interval = Micros(500_000)

  private let client: OpaquePointer
  /// Our client's UUID; nil: the server has given our client none, so no property is written.
  private let subject: jack_uuid_t?
  private var content: Content?
  private var told: [String: String] = [:]
  private var nextTime = Micros(0)

  init(client: JACKClient) {
    self.client = client.handle
    var number: jack_uuid_t = 0
    guard let text = jack_get_uuid_for_client_name(client.handle, client.name) else {
      subject = nil
      return
    }
    subject = jack_uuid_parse(text, &number) == 0 && number != 0 ? number : nil
    jack_free(text)
  }

  /// Writes the properties that have changed. The tempo is one that Link can express, so its text is 120 and
  /// not 120.00000000000001.
  mutating func tell(_ tempo: Double, _ session: SessionProperties, at now: Micros) {
    let news = Content(tempo: tempo, session: session)
    guard let subject, tempo > 0, news != content, now >= nextTime, let turn = ServerTurn() else { return }
    defer { turn.end() }
    nextTime = now + Self.interval
    content = news
    set("bpm", tempo.description, "decimal", of: subject)
    set("linkpeers", String(session.peers), "integer", of: subject)
    set("link/enabled", String(session.isLinkEnabled), "boolean", of: subject)
    set("osc-port", session.oscPort.map { String($0) }, "integer", of: subject)
  }

  private mutating func set(_ key: String, _ value: String?, _ type: String, of subject: jack_uuid_t) {
    guard told[key] != value else { return }
    told[key] = value
    if let value {
      jack_set_property(client, subject, Self.prefix + key, value, Self.types + type)
    } else {
      jack_remove_property(client, subject, Self.prefix + key)
    }
  }

  /// Removes our properties. jack2 would keep them after our client is gone, and give its UUID to another
  /// client.
  func forget() {
    guard let subject, !told.isEmpty, let turn = ServerTurn() else { return }
    for key in told.keys { jack_remove_property(client, subject, Self.prefix + key) }
    turn.end()
  }
}
