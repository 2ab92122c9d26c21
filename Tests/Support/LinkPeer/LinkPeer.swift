// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import Link
import LinkAudioPath
import LinkBeatMath

/// `link-peer`: the library `Link` as a program without sound, driven by the lines of
/// `tools/lib/workshop/peers/lines.py`, so that it can replace a peer of Ableton's library in any experiment.
/// It reads commands from standard input and answers each with a line of flat JSON; at the end of input it
/// ends with a goodbye.
@main struct LinkPeer {
  static func main() {
    var peer = Driver(link: Link(tempo: 120))
    while let line = readLine() {
      let words = line.split(separator: " ").map(String.init)
      guard let verb = words.first else { continue }
      do {
        let fields = try peer.answer(verb, Array(words.dropFirst()))
        say(["\"ok\": true"] + fields)
      } catch {
        say(["\"ok\": false", "\"error\": \"\(error.text)\""])
      }
      if verb == "quit" { return }
    }
  }

  private static func say(_ fields: [String]) {
    let line = Array(("{" + fields.joined(separator: ", ") + "}\n").utf8)
    _ = write(STDOUT_FILENO, line, line.count)
  }
}

struct Refusal: Error {
  let text: String

  init(_ text: String) {
    // The text goes back in a JSON string, so replace characters that would need escapes.
    self.text = String(
      text.map { $0 == "\"" || $0 == "\\" || $0.asciiValue.map { $0 < 32 } == true ? "?" : $0 })
  }
}

struct Driver {
  let link: Link
  var quantum = 4.0
  private var studio: Studio?

  init(link: Link) { self.link = link }

  mutating func answer(_ verb: String, _ words: [String]) throws(Refusal) -> [String] {
    switch (verb, words.count) {
    case ("quit", 0): return []
    case ("status", 0): return status()
    case ("clock", 0): return ["\"time\": \(Link.clock().count)"]
    case ("peers", 0): return ["\"peers\": \(link.peerCount)"]
    case ("gateways", 0): return ["\"gateways\": \(link.diagnostics.addresses.count)"]
    case ("enable", 1): link.isEnabled = try onOrOff(words[0])
    case ("sync", 1): link.isStartStopSyncEnabled = try onOrOff(words[0])
    case ("song", 1): link.isSongSyncEnabled = try onOrOff(words[0])
    case ("quantum", 1): quantum = try number(words[0])
    case ("beat", 0...1): return beat(at: try time(words, 0))
    case ("time", 1):
      let when = link.captureAppState().time(atBeat: try number(words[0]), quantum: quantum)
      return ["\"time\": \(when.count)"]
    case ("audio", 1...4): return try audio(words)
    case ("take", 1...2):
      let delay = words.count > 1 ? PlayoutDelay.fixed(try number(words[1]) * 1000) : .standard
      return try hasStudio().take(words[0], delay: delay)
    case ("send", 1...2): try hasStudio().send(words[0], channels: words.count)
    case ("unsend", 1): try hasStudio().unsend(words[0])
    case ("takeall", 0): return try hasStudio().takeAll()
    case ("tone", 0): try hasStudio().sendTone()
    case ("record", 2): try hasStudio().record(to: words[0], seconds: number(words[1]))
    case ("release", 0): try hasStudio().release()
    case ("channels", 0): return try hasStudio().channels
    case ("heard", 0): return try hasStudio().heard()
    case ("health", 0): return try hasStudio().health
    case ("wait", 2...3): return try wait(words[0], words[1], words.count > 2 ? number(words[2]) : 10)
    default: try edit(verb, words)
    }
    return []
  }

  /// `audio NAME [RATE [PPM]]` starts Link Audio; `audio on` and `audio off` switch it afterwards.
  private mutating func audio(_ words: [String]) throws(Refusal) -> [String] {
    if let studio {
      studio.switchAudio(try onOrOff(words[0]))
      return []
    }
    let rate = words.count > 1 ? UInt32(try number(words[1])) : 48_000
    let ppm = words.count > 2 ? try number(words[2]) : 0
    studio = try? Studio(link, named: words[0], sampleRate: rate, ppm: ppm)
    return []
  }

  private func hasStudio() throws(Refusal) -> Studio {
    guard let studio else { throw Refusal("audio NAME comes first") }
    return studio
  }

  private func edit(_ verb: String, _ words: [String]) throws(Refusal) {
    var state = link.captureAppState()
    switch (verb, words.count) {
    case ("tempo", 1...2): state.setTempo(try number(words[0]), at: try time(words, 1))
    case ("play", 0...1): state.setPlaying(true, at: try time(words, 0))
    case ("stop", 0...1): state.setPlaying(false, at: try time(words, 0))
    case ("request", 1...2): state.requestBeat(try number(words[0]), at: try time(words, 1), quantum: quantum)
    case ("force", 1...2): state.forceBeat(try number(words[0]), at: try time(words, 1), quantum: quantum)
    case ("start", 1...2):
      state.setPlaying(true, at: try time(words, 1), requestingBeat: try number(words[0]), quantum: quantum)
    case ("locate", 1):
      let beat = state.beats(at: Link.clock(), quantum: .zero)
      state.setSongLine(
        SongLine(
          sessionBeat: beat, songBeat: Beats(try number(words[0])), beatsPerBar: 4, beatType: 4))
    default:
      throw Refusal("\(verb) \(words.joined(separator: " ")): not a command of this peer, or not all of one")
    }
    link.commitAppState(state)
  }

  private func status() -> [String] {
    let state = link.captureAppState()
    let now = Link.clock()
    return [
      "\"enabled\": \(link.isEnabled)", "\"mute\": \(link.isMute)", "\"peers\": \(link.peerCount)",
      "\"sync\": \(link.isStartStopSyncEnabled)",
      "\"playing\": \(state.isPlaying)", "\"tempo\": \(state.tempo)", "\"quantum\": \(quantum)",
      "\"time\": \(now.count)", "\"beat\": \(state.beat(at: now, quantum: quantum))",
      "\"phase\": \(state.phase(at: now, quantum: quantum))",
      "\"playing_since\": \(state.timeOfPlaying.count)",
      "\"song_line\": \(state.songLine?.songBeat.value ?? -1)",
      "\"pid\": \(getpid())",
    ]
  }

  private func beat(at time: Micros) -> [String] {
    let state = link.captureAppState()
    return [
      "\"time\": \(time.count)", "\"beat\": \(state.beat(at: time, quantum: quantum))",
      "\"phase\": \(state.phase(at: time, quantum: quantum))", "\"tempo\": \(state.tempo)",
    ]
  }

  private func wait(_ field: String, _ value: String, _ seconds: Double) throws(Refusal) -> [String] {
    let began = Link.clock().count
    let key = "\"\(field)\": "
    while true {
      let status = status()
      guard let shown = status.first(where: { $0.hasPrefix(key) })?.dropFirst(key.count) else {
        throw Refusal("\(field): not in status")
      }
      let waited = Double(Link.clock().count - began) / 1e6
      if matches(String(shown), value) { return status + ["\"waited\": \(waited)"] }
      guard waited < seconds else {
        throw Refusal("\(field) is \(shown) and did not become \(value) within \(seconds) s")
      }
      usleep(1000)
    }
  }

  private func matches(_ shown: String, _ wanted: String) -> Bool {
    if let number = Double(shown), let wanted = Double(wanted) { return abs(number - wanted) < 0.01 }
    return shown == (["on": "true", "off": "false"][wanted] ?? wanted)
  }

  private func onOrOff(_ word: String) throws(Refusal) -> Bool {
    switch word {
    case "on", "true": return true
    case "off", "false": return false
    default: throw Refusal("\(word): must be on or off")
    }
  }

  private func number(_ word: String) throws(Refusal) -> Double {
    guard let value = Double(word), value.isFinite else { throw Refusal("\(word): must be a number") }
    return value
  }

  /// Reads a time: a time of Link's clock, +MICROS for a time from now on, or nothing for now.
  private func time(_ words: [String], _ place: Int) throws(Refusal) -> Micros {
    guard words.count > place else { return Link.clock() }
    guard let value = Int64(words[place]) else { throw Refusal("\(words[place]): must be a time") }
    return words[place].hasPrefix("+") ? Link.clock() + Micros(value) : Micros(value)
  }
}
