// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK

/// A server's ports and connections at one moment, each list fetched when it is first needed. [control]
final class ServerGraph: SinkGraph {
  private let client: JACKClient
  private let implementation: JACKImplementation
  private(set) lazy var inputs = client.ports(JackPortIsInput, type: JACK_DEFAULT_AUDIO_TYPE)
  private(set) lazy var sinks = client.ports(
    JackPortIsInput, JackPortIsPhysical, type: JACK_DEFAULT_AUDIO_TYPE)
  private lazy var terminals = Set(
    client.ports(JackPortIsInput, JackPortIsTerminal, type: JACK_DEFAULT_AUDIO_TYPE))
  private lazy var outputs = client.ports(JackPortIsOutput, type: JACK_DEFAULT_AUDIO_TYPE)

  init(_ client: JACKClient, _ implementation: JACKImplementation) {
    self.client = client
    self.implementation = implementation
  }

  func outputs(of client: String) -> [String] { outputs.filter { $0.hasPrefix(client + ":") } }

  func inputs(behind output: String) -> [String] { client.connections(of: output) }

  func outputs(before input: String) -> [String] { client.connections(of: input) }

  func isTerminal(input: String) -> Bool { terminals.contains(input) }

  func isDesktop(output: String) -> Bool { implementation.isDesktop(port: output) }
}
