// SPDX-License-Identifier: GPL-2.0-or-later
import AudioLanes
import Choices
import Testing

@testable import HostSync
@testable import JACKHost

/// What the ports of a received channel play, whose buffers still hold what was played last: the server leaves it there.
struct ReceivedPortsTests {
  private func heard(_ ports: ReceivedPorts, isFreewheeling: Bool) -> [Float] {
    let frames = 64
    let passing = Passing(
      frames: frames, sampleRate: 48_000, start: 1e6, frameMicros: 1e6 / 48_000, session: 1, origin: 0,
      beatMicros: 500_000, isFreewheeling: isFreewheeling, settings: AudioSettings(), beatsPerBar: 4)
    var left = [Float](repeating: 0.5, count: frames)
    var right = left
    left.withUnsafeMutableBufferPointer { left in
      right.withUnsafeMutableBufferPointer { right in
        ports.fill(left.baseAddress!, right.baseAddress!, passing, UInt32(frames))
      }
    }
    return left + right
  }

  @Test(arguments: [false, true])
  func `the ports of a channel that has gone are silent, and so are those of one that says nothing`(
    isFreewheeling: Bool
  ) {
    #expect(heard(ReceivedPorts(), isFreewheeling: isFreewheeling).allSatisfy { $0 == 0 })
    let lane = ReceiveLane()
    var ports = ReceivedPorts()
    ports.end = lane.audio
    #expect(heard(ports, isFreewheeling: isFreewheeling).allSatisfy { $0 == 0 })
    withExtendedLifetime(lane) {}
  }
}
