// SPDX-License-Identifier: GPL-2.0-or-later
// begin import
import CALSA
import Link
// end import

/// The article `MetronomeWithALSA` of Link's documentation, word for word between the marks. `metronome
/// DEVICE SECONDS` plays for that time, and prints the number of clicks.
@main
enum Program {
  static func main() throws {
    let arguments = CommandLine.arguments
    // Stay off the network, since the machine that compiles this has one.
    let link = Link(tempo: 120)
    link.update { state, now in state.setPlaying(true, at: now, requestingBeat: 0, quantum: 4) }
    let clicks = try play(link, device: arguments[1], seconds: Int(arguments[2]) ?? 1)
    print("\(clicks) clicks")
  }
}

func play(_ link: Link, device: String, seconds: Int) throws -> Int {
  // begin open
  var card: OpaquePointer?
  let opened = snd_pcm_open(&card, device, SND_PCM_STREAM_PLAYBACK, 0)
  guard opened == 0, let card else { throw ALSAFailure(code: opened) }
  defer { snd_pcm_close(card) }
  // One channel of floats, 48,000 a second, and 20 ms of them in the card.
  let agreed = snd_pcm_set_params(
    card, SND_PCM_FORMAT_FLOAT, SND_PCM_ACCESS_RW_INTERLEAVED, 1, 48_000, 1, 20_000)
  guard agreed == 0 else { throw ALSAFailure(code: agreed) }
  // end open
  // begin loop
  guard var audio = link.takeAudio() else { return 0 }
  var samples = [Float](repeating: 0, count: 240)
  var clicks = 0
  var heard: Link.Instant?
  for _ in 0..<seconds * 200 {
    // When the next sample is heard: now, and what is still in the card before it.
    var waiting: snd_pcm_sframes_t = 0
    snd_pcm_delay(card, &waiting)
    let measured = Link.now.advanced(frames: waiting, sampleRate: 48_000)
    // The card plays evenly, but this program does not wake up evenly. Therefore only a sixteenth
    // of each difference is corrected.
    let expected = heard?.advanced(frames: samples.count, sampleRate: 48_000) ?? measured
    let difference = measured.microseconds - expected.microseconds
    let begin = abs(difference) > 10_000 ? measured : expected.advanced(microseconds: difference / 16)
    heard = begin

    let state = audio.capture()
    var last = state.phase(at: begin.advanced(frames: -1, sampleRate: 48_000), quantum: 1)
    for index in samples.indices {
      let time = begin.advanced(frames: index, sampleRate: 48_000)
      let phase = state.phase(at: time, quantum: 1)
      // The phase falls where a beat begins.
      let isClick = phase < last && state.beat(at: time, quantum: 4) >= 0
      samples[index] = isClick ? 1 : 0
      clicks += isClick ? 1 : 0
      last = phase
    }
    let written = snd_pcm_writei(card, samples, snd_pcm_uframes_t(samples.count))
    if written < 0 { snd_pcm_recover(card, Int32(written), 1) }
  }
  // end loop
  return clicks
}

// begin failure
struct ALSAFailure: Error, CustomStringConvertible {
  var code: Int32
  var description: String { String(cString: snd_strerror(code)) }
}
// end failure
