// SPDX-License-Identifier: GPL-2.0-or-later
import CJACK
import Synchronization

/// What the audio thread of a `Loopback` works on: nothing but memory that was there before. [audio]
struct LoopbackTape: ~Copyable {
  private let output: OpaquePointer
  private let input: OpaquePointer
  private let click: UnsafeMutableBufferPointer<Float>
  let recording: UnsafeMutableBufferPointer<Float>
  private let spacing: Int
  private var place = 0
  let isPlaying = Atomic(false)
  let isOver = Atomic(false)

  init(output: OpaquePointer, input: OpaquePointer, clicks: LoopbackClicks, frames: Int) {
    self.output = output
    self.input = input
    spacing = clicks.spacing
    click = .allocate(capacity: clicks.signal.count)
    _ = click.initialize(from: clicks.signal)
    recording = .allocate(capacity: frames)
    recording.initialize(repeating: 0)
  }

  /// [control]
  mutating func free() {
    click.deallocate()
    recording.deallocate()
  }

  mutating func run(_ frames: UInt32) {
    guard let out = jack_port_get_buffer(output, frames)?.assumingMemoryBound(to: Float.self),
      let heard = jack_port_get_buffer(input, frames)?.assumingMemoryBound(to: Float.self)
    else { return }
    let plays = isPlaying.load(ordering: .acquiring)
    var frame = 0
    while frame < Int(frames) {
      out[frame] = 0
      if plays, place < recording.count {
        let phase = place % spacing
        if phase < click.count { out[frame] = click[phase] }
        recording[place] = heard[frame]
        place += 1
      }
      frame += 1
    }
    if place == recording.count { isOver.store(true, ordering: .releasing) }
  }
}

@_noLocks @_noAllocation
func playAndRecord(_ frames: UInt32, _ context: UnsafeMutableRawPointer?) -> Int32 {
  context?.assumingMemoryBound(to: LoopbackTape.self).pointee.run(frames)
  return 0
}
