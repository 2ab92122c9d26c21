// SPDX-License-Identifier: GPL-2.0-or-later
import CJACK

/// A look at a server and everybody on it, for those who search for what is wrong.
public struct GraphSurvey: Equatable, Sendable {
  public struct PhysicalPort: Equatable, Sendable {
    public var name: String
    public var isMIDI: Bool
    public var latencyFrames: UInt32
  }

  public var server: ServerDescription
  /// The clients that are a tactus, whatever their names, without the one that looks.
  public var tactus: [String]
  /// What plays: the sound card's and the MIDI devices' ports.
  public var outputs: [PhysicalPort]
  public var physicalInputs: [String]
  /// Somebody shows bars and beats on the transport.
  public var showsBars: Bool
}

extension GraphSurvey {
  /// Joins the server for a moment, without ports. [control]
  public init(lookingAt server: String?) throws(JACKError) {
    let client = try JACKClient(name: "tactus-looks", server: server)
    let midi = Set(client.ports(JackPortIsInput, JackPortIsPhysical, type: JACK_DEFAULT_MIDI_TYPE))
    let outputs = client.ports(JackPortIsInput, JackPortIsPhysical).map { name in
      var range = jack_latency_range_t()
      if let port = jack_port_by_name(client.handle, name) {
        jack_port_get_latency_range(port, JackPlaybackLatency, &range)
      }
      return PhysicalPort(name: name, isMIDI: midi.contains(name), latencyFrames: range.max)
    }
    var position = jack_position_t()
    jack_transport_query(client.handle, &position)
    self.init(
      server: client.description, tactus: client.neighbours.sorted(), outputs: outputs,
      physicalInputs: client.ports(JackPortIsOutput, JackPortIsPhysical, type: JACK_DEFAULT_AUDIO_TYPE),
      showsBars: position.valid.rawValue & JackPositionBBT.rawValue != 0)
  }
}
