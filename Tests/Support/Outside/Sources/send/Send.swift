// SPDX-License-Identifier: GPL-2.0-or-later
import Link
import LinkAudio

/// Offers a channel and prints the channels of others.
@main
enum Send {
  static func main() {
    let link = Link(tempo: 120)
    let audio = LinkAudio(link, peerName: "Rack")
    let sink = audio.publish(SendLane(channels: 1), as: "Guitar")
    print("\(audio.channels.count) channels")
    withExtendedLifetime(sink) {}
  }
}
