// SPDX-License-Identifier: GPL-2.0-or-later
import JACKHost
import OSC

/// What there is to say about channels of others. Their names are a stranger's, and go to the terminal and the journal.
enum ChannelNews {
  static func presence(_ name: String, _ isThere: Bool) -> String {
    "Link Audio: \(printable(name, limit: 200)) \(isThere ? "is here" : "has gone")"
  }

  static func crowd(_ name: String) -> String {
    "Link Audio: \(AudioChannelPorts.limit) channels are received, there is no place for "
      + printable(name, limit: 150)
  }
}
