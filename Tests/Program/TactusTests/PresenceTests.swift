// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import Testing

@testable import TactusApp

@Suite("Whether the program wants to be on the network")
struct PresenceTests {
  private func seconds(_ seconds: Double) -> Micros { Micros(Int64(seconds * 1_000_000)) }

  /// All combinations of foreground, rolling, start/stop sync and connected, while there is a server.
  private var allSigns: [Presence.ActivitySignals] {
    (0..<16).map { bits in
      Presence.ActivitySignals(
        isForeground: bits & 1 > 0, isMoving: bits & 2 > 0, syncsStartStop: bits & 4 > 0,
        isConnected: bits & 8 > 0)
    }
  }

  /// The results of `judge` for these signals, each with its time in seconds.
  private func judgements(_ life: Presence.Life, _ moments: (Double, Presence.ActivitySignals)...) -> [Bool] {
    var presence = Presence(life)
    return moments.map { presence.judge($0.1, at: seconds($0.0)) }
  }

  private let connected = Presence.ActivitySignals(isConnected: true)
  private let out = Presence.ActivitySignals(isConnected: false)
  private let noServer = Presence.ActivitySignals(isConnected: nil)

  @Test
  func `with --life=always, tactus always wants to be on the network`() {
    for signs in allSigns + [noServer] {
      #expect(judgements(.always, (0, signs), (3600, signs)) == [true, true])
    }
  }

  @Test
  func `with --life=auto, any one of four reasons keeps Link on the network`() {
    for signs in allSigns {
      let isReason = signs.isForeground || signs.isMoving || signs.syncsStartStop || signs.isConnected == true
      #expect(judgements(.auto, (0, signs), (3600, signs)) == [isReason, isReason], "\(signs)")
      #expect(judgements(.auto, (0, out), (3600, out), (3600.01, signs)).last == isReason, "\(signs)")
    }
  }

  @Test
  func `Link leaves the network after its last port is unconnected for 1 s`() {
    let said = judgements(
      .auto, (0, connected), (1, out), (1.9, out), (1.95, connected), (10, out), (10.9, out), (11, out),
      (11.02, connected))
    #expect(said == [true, true, true, true, true, true, false, true])
  }

  @Test
  func `without a JACK server, Link stays on or off the network as it was`() {
    let playing = judgements(
      .auto, (0, connected), (1, noServer), (3600, noServer), (3600.1, out), (3600.3, connected))
    #expect(playing == [true, true, true, true, true])
    let resting = judgements(
      .auto, (0, noServer), (3600, noServer),
      (3601, Presence.ActivitySignals(isForeground: true, isConnected: nil)))
    #expect(resting == [false, false, true])
  }
}
