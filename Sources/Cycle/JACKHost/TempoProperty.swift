// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import CTactusJACK

/// The session's tempo as a metadata property of our client, where jack_transport_link keeps it, too; RNBO's
/// runner and patchbays read it. It exists even if no transport rolls, no matter which client is timebase
/// master. [control]
struct TempoProperty {
  static let key = "http://www.x37v.info/jack/metadata/bpm"
  static let type = "https://www.w3.org/2001/XMLSchema#decimal"
  /// The server notifies every client of each change, so a tempo ramp is written in steps.
  private static let interval = Micros(500_000)

  private let client: OpaquePointer
  /// Our client's UUID; nil: the server has given none, and nothing is written.
  private let subject: jack_uuid_t?
  private var told = 0.0
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

  /// Writes the tempo in the steps that Link's tempo has: 120 and not 120.00000000000001.
  mutating func tell(_ tempo: Double, at now: Micros) {
    guard let subject, tempo > 0, tempo != told, now >= nextTime else { return }
    nextTime = now + Self.interval
    guard let turn = ServerTurn() else { return }
    jack_set_property(client, subject, Self.key, tempo.description, Self.type)
    turn.end()
    told = tempo
  }

  /// Removes the property: jack2 keeps it after its client is gone, and gives the UUID to another.
  func forget() {
    guard let subject, told > 0, let turn = ServerTurn() else { return }
    jack_remove_property(client, subject, Self.key)
    turn.end()
  }
}
