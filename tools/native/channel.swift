// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAudioPath

// Plays a received Link Audio channel for RealtimeSanitizer: ten minutes of chunks (datagrams with sound)
// that are lost, overtaken, doubled, late and forged, from senders that restart, with changes of tempo and
// delay.

struct Channel: ~Copyable {
  private var playout: Playout
  private var grid = SessionGrid(session: 1, origin: 0, beatMicros: 500_000)
  private var number: UInt64 = 0
  private var sent = 0.0
  private var rate: UInt32 = 48_000
  private var held: AudioChunk?
  private let left = UnsafeMutablePointer<Float>.allocate(capacity: Playout.mostFrames)
  private let right = UnsafeMutablePointer<Float>.allocate(capacity: Playout.mostFrames)
  private let samples = UnsafeMutableBufferPointer<Float>.allocate(capacity: AudioChunk.mostSamples)

  init() {
    let frames = 65_536
    let memory = UnsafeMutableRawPointer.allocate(byteCount: Playout.bytes(frames: frames), alignment: 64)
    playout = Playout(in: memory, frames: frames, kernel: Kernel(in: .allocate(capacity: Kernel.floats)))
    for index in samples.indices { samples[index] = Float(index % 50) / 50 - 0.5 }
  }

  var figures: PlayoutFigures { playout.figures }

  private mutating func next(at now: Double) -> AudioChunk {
    number &+= 1
    let chunk = AudioChunk(
      session: 1, number: number, begin: grid.microbeats(at: sent), microsPerBeat: Int64(grid.beatMicros),
      arrival: Int64(now), sampleRate: rate, frames: 125, channels: 2)
    sent += 125e6 / Double(rate)
    return chunk
  }

  mutating func play(from now: Double) -> Double {
    let frames = [64, 256, 256, 1024][Int(draw(4))]
    let micros = Double(frames) / 48_000 * 1e6
    disturb(at: now)
    let hearing = OutputPeriod(
      frames: frames, sampleRate: 48_000, start: now, frameMicros: 1e6 / 48_000, latencyMicros: 10_000,
      grid: grid)
    let isStalled = draw(100) == 0
    rtsanEnter()
    while sent < now - 5000 && !isStalled {
      let chunk = next(at: now)
      switch draw(20) {
      case 0: continue
      case 1: held = chunk
      case 2:
        playout.insert(chunk, samples: UnsafeBufferPointer(samples), hearing)
        playout.insert(chunk, samples: UnsafeBufferPointer(samples), hearing)
      case 3:
        var forged = chunk
        forged.number = draw(.max)
        forged.begin = Int64(bitPattern: draw(.max))
        playout.insert(forged, samples: UnsafeBufferPointer(samples), hearing)
        playout.insert(chunk, samples: UnsafeBufferPointer(samples), hearing)
      default: playout.insert(chunk, samples: UnsafeBufferPointer(samples), hearing)
      }
      if let late = held, draw(4) == 0 {
        playout.insert(late, samples: UnsafeBufferPointer(samples), hearing)
        held = nil
      }
    }
    playout.render(hearing, left: left, right: right)
    rtsanExit()
    return now + micros
  }

  private mutating func disturb(at now: Double) {
    switch draw(2000) {
    case 0: number = 0
    case 1: rate = [44_100, 48_000, 96_000][Int(draw(3))]
    case 2:
      let beat = (now - grid.origin) / grid.beatMicros
      grid.beatMicros = Double(300_000 + draw(500_000))
      grid.origin = now - beat * grid.beatMicros
    case 3: playout.delay = .beats(1)
    case 4: playout.delay = .fixed(Double(draw(200_000)))
    case 5: playout.delay = .standard
    case 6: sent += 1e6
    default: break
    }
  }
}
