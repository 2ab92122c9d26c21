// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAudio

/// All calls of the libraries that are marked real-time-safe. The compiler proves that they neither lock nor
/// allocate, in debug builds, too.
struct Allowed: ~Copyable {
  var link: Link.AudioHandle
  var sent: LinkAudio.SendEnd
  var played: LinkAudio.ReceiveEnd
  let buffer: UnsafeMutableBufferPointer<Float>

  @_noLocks @_noAllocation
  mutating func capture() -> Bool {
    let now = Link.Instant.now
    let state = link.capture()
    var other = link.capture(at: Link.Clock().now)
    other.setTempo(120, at: now)
    other.requestBeat(0, at: now, quantum: 4)
    other.forceBeat(0, at: now, quantum: 4)
    other.setPlaying(true, at: now)
    other.requestBeatAtStart(0, quantum: 4)
    other.setPlaying(false, at: now, requestingBeat: 0, quantum: 4)
    let isDone = link.commit(other) && link.commit(other, at: now)
    return state == other || isDone || state.isConnected || state.isPlaying
  }

  @_noLocks @_noAllocation
  mutating func ask() -> Double {
    let state = link.capture()
    let now = Link.Instant(microseconds: 4).advanced(microseconds: 1).advanced(frames: 1, sampleRate: 48_000)
    let isLater = now < state.time(atBeat: 1, quantum: 4) && now != state.timeOfPlaying
    let beat = state.beat(at: now, quantum: 4) + state.phase(at: now, quantum: 4)
    let tempo = Link.AudioHandle.beatsPerMinute(from: 0, to: 1, frames: 1, sampleRate: 48_000)
    return isLater ? beat + Double(now.microseconds) : state.tempo + tempo
  }

  @_noLocks @_noAllocation
  mutating func play(
    _ buffer: UnsafeMutablePointer<Float>, first: consuming MutableSpan<Float>,
    second: consuming MutableSpan<Float>, recorded: Span<Float>
  ) {
    let period = LinkAudio.Period(link.capture(), frames: 64, sampleRate: 48_000, start: .now)
    if sent.isWanted { sent.send(period, left: buffer, right: nil) }
    sent.send(period, recorded)
    sent.send(period, left: recorded, right: recorded)
    played.render(period, delay: .beats(4), left: buffer, right: nil)
    played.render(period, delay: .standard, &first)
    played.render(period, delay: .standard, left: first, right: second)
    played.skip(frames: 64, left: buffer, right: nil)
  }

  /// The buffer is a stored property of the same value as the two ends, so the ends get it as a
  /// pointer.
  @_noLocks @_noAllocation
  mutating func play() {
    guard let left = buffer.baseAddress else { return }
    let period = LinkAudio.Period(link.capture(), frames: buffer.count, sampleRate: 48_000, start: .now)
    played.render(period, delay: .standard, left: left, right: nil)
    sent.send(period, left: left, right: nil)
  }
}
