// SPDX-License-Identifier: GPL-2.0-or-later
import Link

/// A metronome without a sound card: plays ten seconds of audio as fast as it can, with a change of tempo
/// after five seconds. Prints the number of clicks, and the largest distance of a click from its beat, in
/// whole frames.
@main
enum Clicks {
  static func main() {
    let link = Link(tempo: 120)
    let begin = link.update { state, now in
      state.setPlaying(true, at: now, requestingBeat: 0, quantum: 4)
      return now
    }
    guard let audio = link.takeAudio() else { return print("another part has the audio") }
    var metronome = Metronome(link: audio)
    var samples = [Float](repeating: 0, count: 250)
    var clicks: [Link.Instant] = []
    for period in 0..<1_920 {
      let start = begin.advanced(frames: period * 250, sampleRate: 48_000)
      if period == 960 { link.update { state, _ in state.setTempo(151, at: start) } }
      var span = samples.mutableSpan
      metronome.render(&span, begin: start)
      for (index, sample) in samples.enumerated() where sample == 1 {
        clicks.append(start.advanced(frames: index, sampleRate: 48_000))
      }
    }
    let state = link.capture()
    let late = clicks.filter { $0 > begin + .milliseconds(5_100) }.map { click in
      let beat = state.beat(at: click, quantum: 4).rounded()
      return abs(state.time(atBeat: beat, quantum: 4).duration(to: click) / .microseconds(1)) * 0.048
    }
    print(
      "\(clicks.count) clicks, \(late.count) after the change, \(Int(late.max() ?? 99)) frames from the beat")
  }
}

struct Metronome: ~Copyable {
  var link: Link.AudioHandle

  @_noLocks @_noAllocation
  mutating func render(_ samples: inout MutableSpan<Float>, begin: Link.Instant) {
    let state = link.capture(at: begin)
    var last = state.phase(at: begin.advanced(frames: -1, sampleRate: 48_000), quantum: 1)
    var index = 0
    while index < samples.count {
      let time = begin.advanced(frames: index, sampleRate: 48_000)
      let phase = state.phase(at: time, quantum: 1)
      samples[index] = phase < last && state.beat(at: time, quantum: 4) >= 0 ? 1 : 0
      last = phase
      index += 1
    }
  }
}
