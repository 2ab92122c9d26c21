// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK
import LinkBeatMath
import LinkHandoff
import Testing

@testable import TactusJACK

/// A cycle of a listening client, with its wake-up time and the frame at which silence ended.
struct HeardCycle: BitwiseCopyable, Sendable {
  /// The server's count of frames at the cycle's start. `woken` is the time on JACK's clock at which this
  /// client woke up for the cycle.
  var frame: UInt32 = 0
  var woken: UInt64 = 0
  var frames: UInt32 = 0
  /// The first frame of the click that began in this cycle; -1: no click began.
  var onset: Int32 = -1
}

/// Listens to `click_1` or another port. After a stall or a new period JACK's own frame times are wrong for
/// seconds. So the listener itself draws the line from frames to times, along the earliest wake-ups.
final class Listener {
  /// The number of silent frames after which a click is over.
  private static let silence = 480

  fileprivate struct Ear: ~Copyable {
    let client, input: OpaquePointer
    let cycles = SPSCQueue<HeardCycle>(capacity: 1 << 14)
    var quiet = Listener.silence
  }

  private let client: JACKClient
  private let ear: UnsafeMutablePointer<Ear>
  private var stretch: [HeardCycle] = []
  /// The numbers of cycles, of clicks, and of gaps between cycles since `forget`.
  private(set) var cycleCount = 0, clickCount = 0, lossCount = 0
  /// The number of clicks that the last call of `onsets` left out because the driver stalled.
  private(set) var leftOutCount = 0

  init(_ server: TestServer, at port: String = "click_1") throws {
    client = try JACKClient(name: "listener", server: server.name)
    let input = jack_port_register(
      client.handle, "ear", JACK_DEFAULT_AUDIO_TYPE, UInt(JackPortIsInput.rawValue), 0)
    ear = .allocate(capacity: 1)
    ear.initialize(to: Ear(client: client.handle, input: try #require(input)))
    jack_set_process_callback(client.handle, listen, ear)
    #expect(jack_activate(client.handle) == 0)
    #expect(jack_connect(client.handle, "tactus:\(port)", "listener:ear") == 0)
  }

  deinit {
    jack_deactivate(client.handle)
    ear.deinitialize(count: 1)
    ear.deallocate()
  }

  func forget() {
    while ear.pointee.cycles.pop() != nil {}
    stretch = []
    (cycleCount, clickCount, lossCount) = (0, 0, 0)
  }

  /// The number of clicks that were heard since the last call.
  func count() -> Int {
    var count = 0
    while let cycle = ear.pointee.cycles.pop() { if cycle.onset >= 0 { count += 1 } }
    return count
  }

  /// Reads new cycles, and returns the times on JACK's clock at which the clicks were due at our input.
  ///
  /// Two lines from frames to times are drawn along the earliest wake-ups, one for the time just before a
  /// click and one for the time just after it. If the lines differ, the driver stalled in between, and the
  /// click may belong to either line. Such clicks are left out, and so are all clicks before a lost cycle.
  func onsets(sampleRate: Int) -> [Micros] {
    while let cycle = ear.pointee.cycles.pop() {
      if let last = stretch.last, last.frame &+ last.frames != cycle.frame {
        stretch = []
        lossCount += 1
      }
      stretch.append(cycle)
      cycleCount += 1
      if cycle.onset >= 0 { clickCount += 1 }
    }
    guard let first = stretch.first else { return [] }
    let microsPerFrame = 1e6 / Double(sampleRate)
    func nominal(_ cycle: HeardCycle) -> Double { Double(cycle.frame &- first.frame) * microsPerFrame }
    let offsets = stretch.map { Double($0.woken - first.woken) - nominal($0) }
    var onsets: [Micros] = []
    leftOutCount = 0
    for place in stretch.indices where stretch[place].onset >= 0 {
      let reach = max(8, 60_000 / Int(Double(stretch[place].frames) * microsPerFrame))
      guard place >= reach, place + reach <= stretch.count else { continue }
      let before = offsets[(place - reach)..<place].min() ?? 0
      let after = offsets[place..<(place + reach)].min() ?? 0
      guard abs(after - before) < 150 else {
        leftOutCount += 1
        continue
      }
      let due = min(before, after) + nominal(stretch[place]) + Double(stretch[place].onset) * microsPerFrame
      onsets.append(Micros(Int64(first.woken) + Int64(rounding: due)))
    }
    return onsets
  }

  fileprivate static func receive(_ frames: UInt32, _ ear: UnsafeMutablePointer<Ear>) {
    var cycle = HeardCycle(
      frame: jack_last_frame_time(ear.pointee.client), woken: jack_get_time(), frames: frames)
    guard let buffer = jack_port_get_buffer(ear.pointee.input, frames) else { return }
    let samples = buffer.assumingMemoryBound(to: Float.self)
    for place in 0..<Int(frames) {
      if samples[place] == 0 {
        ear.pointee.quiet += 1
      } else {
        if ear.pointee.quiet >= silence && cycle.onset < 0 { cycle.onset = Int32(place) }
        ear.pointee.quiet = 0
      }
    }
    ear.pointee.cycles.push(cycle)
  }
}

private func listen(_ frames: UInt32, _ context: UnsafeMutableRawPointer?) -> Int32 {
  Listener.receive(frames, context!.assumingMemoryBound(to: Listener.Ear.self))
  return 0
}
