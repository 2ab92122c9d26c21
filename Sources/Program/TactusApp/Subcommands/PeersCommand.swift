// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import Link
import TactusSurface

/// `tactus peers`: shows whether there are other Link peers.
struct PeersCommand: Conversing {
  static let name = "peers"
  static let summary = "Say whether there are other Link peers, or wait for one"
  static let description = """
    Asks the tactus that runs on this machine; if none runs, looks for peers itself. Ends with
    status 0 if there is a Link peer, else with 1.
    """
  static let options: [Option<PeersCommand>] =
    [
      Option(
        "wait", in: .other, .value("SECONDS", .whole(1...86_400), \.wait, bare: "10"),
        help: "Wait this many seconds for a peer (10 if no number is given).")
    ] + whereaboutsOptions

  /// Seconds to wait: a peer announces itself within a second.
  var wait = 2
  var whereabouts = Whereabouts()

  func run(_ operands: [String]) throws(UserError) -> Tactus.Status {
    let isAsked = whereabouts != Whereabouts() || !RunningNote.all().isEmpty
    let peers = try isAsked ? askTactus() : listenForPeers()
    guard Console.say(links(peers)) else { return .failure }
    return peers > 0 ? .success : .failure
  }

  private func askTactus() throws(UserError) -> Int {
    var running = try RunningTactus(whereabouts)
    let end = ContinuousClock.now + .seconds(wait)
    while true {
      let peers = Int(RemoteValues(try running.values()).words("peers")) ?? 0
      if peers > 0 || ContinuousClock.now >= end { return peers }
      usleep(250_000)
    }
  }

  private func listenForPeers() throws(UserError) -> Int {
    let link = Link(try Startup([]).configuration.link, far: nil)
    link.isEnabled = true
    defer { link.isEnabled = false }
    let end = ContinuousClock.now + .seconds(wait)
    while link.snapshot.peerCount == 0, ContinuousClock.now < end { usleep(50_000) }
    return link.snapshot.peerCount
  }
}
