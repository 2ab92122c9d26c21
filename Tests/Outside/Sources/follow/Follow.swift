// SPDX-License-Identifier: GPL-2.0-or-later
import Link

/// Sets the session's tempo and says what it is.
@main
enum Follow {
  static func main() {
    let link = Link(tempo: 120)
    link.updateAppState { $0.setTempo(98, at: Link.clock()) }
    print("\(link.captureAppState().tempo) BPM")
  }
}
