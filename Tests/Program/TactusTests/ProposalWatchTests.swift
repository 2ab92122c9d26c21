// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusSurface
import Testing

@testable import TactusApp

@Suite("The network thread polls for proposals only while there may be some")
struct ProposalWatchTests {
  private func expects(_ leading: Lead = .link, sync: Bool = false) -> Bool {
    var watch = ProposalWatch()
    return watch.expects(leading: leading, syncsStartStop: sync, tempoRequests: 0, at: Micros(5))
  }

  @Test
  func `the audio thread has proposals only with a leader or start/stop sync`() {
    #expect(!expects())
    #expect(expects(.host) && expects(.midi) && expects(sync: true))
  }

  @Test
  func `after a JACK client changes the tempo, polling goes on for ten seconds`() {
    var watch = ProposalWatch()
    func expects(_ requests: UInt64, at seconds: Int64) -> Bool {
      watch.expects(
        leading: .link, syncsStartStop: false, tempoRequests: requests, at: Micros(seconds * 1_000_000))
    }
    #expect(!expects(0, at: 1))
    #expect(expects(.max, at: 2) && expects(0, at: 3) && expects(0, at: 12))
    #expect(!expects(0, at: 13))
  }
}
