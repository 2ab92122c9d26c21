// SPDX-License-Identifier: GPL-2.0-or-later

/// A client on a running JACK server. [control]
public final class JACKHost {
  private let client: JACKClient

  /// Joins the server; never starts one. `server` nil is JACK's default.
  public init(name: String, server: String?) throws(JACKError) {
    client = try JACKClient(name: name, server: server)
  }

  public var server: ServerDescription { client.description }
}
