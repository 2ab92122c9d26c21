// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import Testing

@testable import TactusSync

/// Starts after which the transport rolls from another frame than the one at which it stood.
struct FirstFrameTests {
  private func studio(_ alignment: Alignment, tempo: Double = 120) -> Studio {
    let studio = Studio(tempo: tempo)
    studio.asksBeforeRolling = true
    studio.isMaster = true
    studio.settings.launch.alignment = alignment
    studio.latencies = [.click1: 512, .jack: 512]
    studio.rollsAsPipeWire = true
    return studio
  }

  /// Starts the transport. Returns the microseconds by which a host (a DAW that counts frames at this tempo)
  /// is late for the session's bars.
  private func start(_ studio: Studio, _ frames: UInt32, tempo: Double = 120) -> Double {
    studio.transport.state = .starting
    var cycles = 0
    while studio.transport.state != .rolling, cycles < 5_000 {
      studio.play(frames)
      cycles += 1
    }
    let first = studio.transport.frame
    studio.play(frames)
    let heard = studio.due + 512 * studio.microsPerFrame
    let away = studio.beat(at: heard) - Double(first) / 48_000 * tempo / 60
    return (away - 4 * (away / 4).rounded()) * 60e6 / tempo
  }

  private func stop(_ studio: Studio, _ frames: UInt32) {
    studio.play(seconds: 0.9, frames: frames)
    studio.transport.state = .stopped
    studio.play(seconds: 0.43, frames: frames)
  }

  private func expectOnBar(_ error: Double, _ alignment: Alignment, _ frames: UInt32, _ name: String) {
    // The bound in microseconds is slightly more than half a period. For an exact start it is half a frame,
    // and a frame for rounding.
    let bound = alignment == .exact ? 32 : Double(frames) / 0.048 * 0.51
    #expect(abs(error) <= bound, "\(alignment), \(frames), \(name): \(error) us")
  }

  @Test(arguments: [Alignment.nearest, .exact], [256, 1024] as [UInt32])
  func `a start is on its bar though a stop shows an old frame`(alignment: Alignment, frames: UInt32) {
    for isPipeWire in [true, false] {
      let studio = studio(alignment)
      studio.rollsAsPipeWire = isPipeWire
      studio.play(seconds: 0.3, frames: frames)
      studio.locate = 96_768
      studio.play(seconds: 0.2, frames: frames)
      for round in 0..<8 {
        let error = start(studio, frames)
        expectOnBar(error, alignment, frames, "start \(round), PipeWire: \(isPipeWire)")
        #expect(abs(studio.report.launch.error - error) < 2, "start \(round), PipeWire: \(isPipeWire)")
        #expect(abs(studio.report.song.hostLag - error) < 2, "start \(round), PipeWire: \(isPipeWire)")
        stop(studio, frames)
        if round % 3 == 2 {
          // In round 2 the locate goes to the frame where the transport stands already.
          studio.locate = round == 2 ? studio.transport.frame : 48_000
          studio.play(seconds: 0.1, frames: frames)
        }
      }
    }
  }

  @Test func `a tempo change between stop and start keeps a host on the beat`() {
    let studio = studio(.nearest)
    studio.play(seconds: 0.3)
    studio.locate = 480_000
    studio.play(seconds: 0.1)
    _ = start(studio, 256)
    stop(studio, 256)
    studio.setTempo(60)
    studio.play(seconds: 0.1)
    _ = start(studio, 256, tempo: 60)
    #expect(
      abs(studio.report.song.hostLag - studio.report.launch.error) < 2, "\(studio.report.song.hostLag) us")
  }

  @Test func `the frame a start will roll from is unknown until a locate or stop`() {
    let located = studio(.exact)
    located.play(seconds: 0.2)
    #expect(!located.report.isFirstFrameUnknown)
    located.play(seconds: 0.3)
    #expect(located.report.isFirstFrameUnknown)
    located.locate = 0
    located.play(seconds: 0.01)
    #expect(!located.report.isFirstFrameUnknown)
    expectOnBar(start(located, 256), .nearest, 256, "from the very beginning")
    // A change of the driver puts the transport at another frame, without a locate.
    stop(located, 256)
    located.transport.frame = 7_000
    located.play(seconds: 0.01)
    #expect(located.report.isFirstFrameUnknown)
  }

  @Test func `on an unknown server, starts are on the bar from the second on`() {
    let studio = studio(.nearest)
    studio.skipsBehindLocate = true
    studio.play(seconds: 0.3)
    for round in 0..<4 {
      studio.locate = 96_000
      studio.play(seconds: 0.1)
      let error = start(studio, 256)
      if round > 0 { expectOnBar(error, .nearest, 256, "start \(round)") }
      stop(studio, 256)
    }
  }

  @Test func `a cycle lost at a start or stop does not put later starts off the bar`() {
    let studio = studio(.nearest)
    studio.rollsAsPipeWire = false
    studio.play(seconds: 0.3)
    studio.locate = 96_000
    studio.play(seconds: 0.1)
    for round in 0..<4 {
      let error = start(studio, 256)
      expectOnBar(error, .nearest, 256, "start \(round)")
      studio.play(seconds: 0.9)
      studio.transport.state = .stopped
      studio.play(256, stall: 30_000)
      studio.play(seconds: 0.3)
    }
  }
}
