// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK

/// A snapshot of a server and its clients, in which `tactus doctor` looks for problems.
public struct GraphSurvey: Equatable, Sendable {
  public struct PhysicalPort: Equatable, Sendable {
    public var name: String
    public var isMIDI: Bool
    public var latencyFrames: UInt32

    public var client: String { clientName(ofPort: name) }
  }

  public var server: ServerDescription
  /// The names of all other clients that are a tactus, without the client that made this survey.
  public var tactus: [String]
  /// The playback ports of sound cards and MIDI devices.
  public var outputs: [PhysicalPort]
  public var physicalInputs: [String]
  /// Ports with an impossible latency, which `PortLatencies` replaces by 0.
  public var implausible: [String] = []
  /// Whether a timebase master shows bars and beats on the transport.
  public var showsBars: Bool
}

extension GraphSurvey {
  /// Joins the server for a moment, without ports. [control]
  public init(lookingAt server: String?) throws(JACKError) {
    let client = try JACKClient(name: "tactus-looks", server: server)
    let midi = Set(client.ports(JackPortIsInput, JackPortIsPhysical, type: JACK_DEFAULT_MIDI_TYPE))
    let rate = jack_get_sample_rate(client.handle)
    func latency(of name: String, _ mode: JackLatencyCallbackMode) -> UInt32 {
      var range = jack_latency_range_t()
      if let port = jack_port_by_name(client.handle, name) { jack_port_get_latency_range(port, mode, &range) }
      return range.max
    }
    func isImplausible(_ name: String, _ mode: JackLatencyCallbackMode) -> Bool {
      let frames = latency(of: name, mode)
      return PortLatencies.plausible(frames, sampleRate: rate) != frames
    }
    let outputs = client.ports(JackPortIsInput, JackPortIsPhysical).map { name in
      let frames = latency(of: name, JackPlaybackLatency)
      return PhysicalPort(
        name: name, isMIDI: midi.contains(name),
        latencyFrames: PortLatencies.plausible(frames, sampleRate: rate))
    }
    let implausible =
      client.ports(JackPortIsInput).filter { isImplausible($0, JackPlaybackLatency) }
      + client.ports(JackPortIsOutput).filter { isImplausible($0, JackCaptureLatency) }
    var position = jack_position_t()
    jack_transport_query(client.handle, &position)
    self.init(
      server: client.description, tactus: client.neighbours.sorted(), outputs: outputs,
      physicalInputs: client.ports(JackPortIsOutput, JackPortIsPhysical, type: JACK_DEFAULT_AUDIO_TYPE),
      implausible: implausible.sorted(),
      showsBars: position.valid.rawValue & JackPositionBBT.rawValue != 0)
  }
}
