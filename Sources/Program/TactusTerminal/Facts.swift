// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusSurface

/// The state in the words that the view shows.
struct Facts {
  let scene: Scene
  private var state: SurfaceState { scene.state }

  init(_ scene: Scene) {
    self.scene = scene
  }

  var tempo: String { fixed(state.tempo.beatsPerMinute, 2) }

  /// How many notes of the meter remain until a waiting start, in whole numbers; nil: no start waits.
  var countIn: Int? {
    guard case .waiting = state.transport else { return nil }
    return Int(clamping: -Int64(flooring: -state.notesToLaunch(at: scene.now)))
  }

  /// The position in the song. Bars and the notes of a bar are counted from 1.
  var position: String {
    let place = state.bars.place(at: state.songBeats(at: scene.now).value)
    return "\(place.bar + 1)|\(place.note + 1)"
  }

  var peers: String {
    guard !state.choices.isLinkEnabled || state.link.isActive else { return "resting" }
    return links(state.link.peers) + (state.far.short.map { ", \($0)" } ?? "")
  }

  /// Link Audio in words; nil: Link Audio is off.
  var audio: String? {
    guard state.choices.audio.isOn else { return nil }
    let received = state.audio.channels.count { !$0.isSent }
    return "\(state.audio.channels.count - received) sent, \(received) received"
  }

  /// Link Audio's channels, with the health of received ones; nil: there are none.
  var channels: String? {
    guard state.choices.audio.isOn, !state.audio.channels.isEmpty else { return nil }
    let isReceiving = state.audio.channels.contains { !$0.isSent }
    let isSending = state.audio.channels.contains(where: \.isSent)
    return [isReceiving ? state.audio.received : nil, isSending ? "sends \(state.audio.sent)" : nil]
      .compactMap(\.self).joined(separator: "; ")
  }

  var sync: String { state.choices.syncsStartStop ? "on" : "off" }

  /// Start/stop sync and song sync. The song's offset is shown while it could be heard.
  var wholeSync: String {
    guard state.choices.syncsSong else { return "sync \(sync)" }
    let offset = state.readings.songOffsetMilliseconds
    return "sync \(sync), song" + (abs(offset) < 1 ? " in sync" : " \(signed(offset, places: 0)) ms")
  }

  /// The transport's state, in at most this many columns.
  func transport(within columns: Int) -> String {
    guard state.jack.isRunning else { return "no JACK server" }
    switch state.transport {
    case .stopped: return "stopped"
    case .rolling:
      return state.doing == .stopping ? state.status : "rolling"
    case .waiting:
      let words = state.doing == .starting ? state.status : "starts \(state.startWords ?? "now")"
      guard words.unicodeScalars.count > columns else { return words }
      return state.doing == .starting ? "waits for JACK clients" : words.replacing(" of the bar", with: "")
    }
  }

  var timebase: String { state.master + offset(.jack) }

  /// The leader in words, in at most this many columns.
  func leads(within columns: Int) -> String {
    let note = state.leadNote
    return note.unicodeScalars.count <= columns ? note : state.shortLeadNote
  }

  /// The state of the web page in words, in at most this many columns.
  ///
  /// - Parameter opener: the key that opens the page; nil: no key opens it.
  func page(within columns: Int, opener: String?) -> String {
    switch state.page.reach {
    case .off:
      // Only this machine may open the page.
      return scene.place == nil ? opener.map { "off (\($0) opens it)" } ?? "off" : "off"
    case .closed: return "not open yet"
    case .thisMachine(let address): return "\(Self.typed(address)), here only"
    case .network(let addresses):
      guard let best = addresses.first else { return "open, but no network now" }
      let whole = "open at \(best)"
      return whole.unicodeScalars.count <= columns ? whole : "open at \(Self.typed(best))"
    case .unknown: return SurfaceState.unknown
    }
  }

  /// The shortest form of a page's address that browsers accept.
  private static func typed(_ address: String) -> String {
    String((address.hasPrefix("http://") ? address.dropFirst(7) : address[...]).prefix { $0 != "/" })
  }

  var shortPage: String {
    switch state.page.reach {
    case .off: "page off"
    case .closed, .network([]): "page not open"
    case .thisMachine: "page here"
    case .network: "page open"
    case .unknown: "page \(SurfaceState.unknown)"
    }
  }

  /// When a start happens, and the count-in before it.
  var launch: String {
    let launch = state.choices.launch
    let bars = state.lists.outputs.compactMap(\.settings.countIn).reduce(launch.countIn, max)
    let stop =
      switch state.choices.stopPlace {
      case .here: ""
      case .bar: ", stop returns to bar"
      case .start: ", stop returns to start"
      }
    return launch.moment.word + (bars == 0 || launch.moment == .now ? "" : ", count-in \(bars)") + stop
  }

  /// The present song of the set list, the next song, and the song and tempo that wait for their beat; empty:
  /// there is no set list, and nothing waits.
  var set: [(name: String, words: String)] {
    let place = state.place
    var rows: [(name: String, words: String)] = []
    if place != SetPlace() {
      rows.append(("Song", place.song.isEmpty ? "none yet" : place.song))
      if place.waiting.isEmpty { rows.append(("Next", place.coming.isEmpty ? "none" : place.coming)) }
    }
    let tempo = state.tempoWaiting == 0 ? "" : "\(shortest(state.tempoWaiting)) BPM"
    let waiting = [tempo, place.waiting].filter { !$0.isEmpty }
    if !waiting.isEmpty { rows.append(("Waits", waiting.joined(separator: ", "))) }
    return rows
  }

  var click: String { state.choices.click.isOn ? state.choices.click.when.word : "off" }

  /// The click's state and sound. "not connected" comes first, so that it is never cut off.
  var wholeClick: String {
    guard state.choices.click.isOn else { return click + offset(.click1, .click2) }
    let (offset, sound) = (offset(.click1, .click2), state.choices.click.sound.word)
    let facts = "\(sound)\(swing(state.choices.click.swing))"
    return state.isClickLost ? "not connected\(offset), \(click), \(facts)" : "\(click)\(offset), \(facts)"
  }

  private func swing(_ swing: Swing) -> String { swing.isStraight ? "" : ", swing \(swing.word)" }

  var clickOffset: String { own(.click1) }

  var shortClick: String {
    state.isClickLost ? "click not connected" : "click \(click)\(shortOffset(.click1))"
  }

  func offset(_ port: Port, _ follower: Port? = nil) -> String {
    offsetNote(own(port), follower.map { ($0 == .click2 ? "click_2" : "run", own($0)) })
  }

  private func own(_ port: Port) -> String { shortest(state.choices.offset(of: port).milliseconds) }

  /// The port's offset as a bare number, for a place without room for words.
  func shortOffset(_ port: Port) -> String {
    let own = own(port)
    return own == "0" ? "" : own.hasPrefix("-") ? " \(own)" : " +\(own)"
  }

  var clock: String { state.choices.clock.isOn ? state.choices.clock.when.word : "off" }

  var wholeClock: String { clock + (state.choices.clock.isOn ? swing(state.choices.clock.swing) : "") }

  var pulse: String {
    let pulse = state.choices.pulse
    guard pulse.isOn else { return "off" }
    return (pulse.rate == .bar ? "one a bar" : "\(pulse.rate.word) a beat") + swing(pulse.swing)
  }

  /// The user's own outputs, each clock with its state; nil: the user has none.
  var outputs: String? {
    guard !state.lists.outputs.isEmpty else { return nil }
    return state.lists.outputs.map { output in
      let doing = state.jack.outputHealth[output.name]?.state ?? ""
      return output.name + (doing.isEmpty ? "" : " \(doing)")
    }.joined(separator: ", ")
  }

  var server: String {
    guard state.jack.isRunning else { return "not there" }
    return "\(state.jack.sampleRate) Hz, \(state.jack.framesPerCycle) frames"
  }

  var xruns: String { state.jack.xruns == 1 ? "1 xrun" : "\(state.jack.xruns) xruns" }

  /// The addresses for a tablet, best first; if there are none, the reason or how to get one.
  var reach: [String] {
    switch scene.reach {
    case .off: ["off (--no-osc)"]
    case .closed: ["not open yet"]
    case .thisMachine(let port): ["\(port), this machine only;", "tablet: --osc-listen=0.0.0.0"]
    case .network(let addresses, let port):
      addresses.isEmpty ? ["\(port), but no network now"] : addresses
    }
  }

  var shortReach: String {
    switch scene.reach {
    case .off: "off"
    case .closed: "not open yet"
    case .thisMachine: "here only: --osc-listen=0.0.0.0"
    case .network: reach[0]
    }
  }

  func signed(_ value: Double, places: Int) -> String {
    let text = fixed(value, places)
    return text.hasPrefix("-") ? text : "+" + text
  }
}
