// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices
import ControlSurface

/// The state in words.
struct Facts {
  let scene: Scene
  private var state: SurfaceState { scene.state }

  init(_ scene: Scene) {
    self.scene = scene
  }

  var tempo: String { decimal(state.tempo.beatsPerMinute, places: 2) }

  var isMoving: Bool {
    switch state.transport {
    case .stopped: false
    case .waiting, .rolling: true
    }
  }

  /// Whole beats until a held start; nil while none is held.
  var countIn: Int? {
    guard case .waiting = state.transport else { return nil }
    return max(0, Int(clamping: -Int64(flooring: state.songBeats(at: scene.now).value)))
  }

  /// Of the song: bars from 1, beats in the bar from 1.
  var position: String {
    let beats = Double(state.choices.meter.beats)
    let song = state.songBeats(at: scene.now)
    let bar = Int64(flooring: song.value / beats) + 1
    let beat = Int64(flooring: song.phase(in: Beats(beats)).value) + 1
    return "\(bar)|\(beat)"
  }

  var link: String { state.choices.isLinkEnabled ? "Enabled" : "Disabled" }

  var peers: String {
    if state.choices.isLinkEnabled, !state.linkActive { return "resting" }
    return state.peers == 0 ? "No Links" : state.peers == 1 ? "1 Link" : "\(state.peers) Links"
  }

  var sync: String { state.choices.syncsStartStop ? "on" : "off" }

  var transport: String {
    guard state.jackConnected else { return "no JACK server" }
    switch state.transport {
    case .stopped: return "stopped"
    case .rolling: return "rolling"
    case .waiting: return state.choices.launch.moment == .beat ? "waits for the beat" : "waits for the bar"
    }
  }

  var leader: String {
    switch state.leading {
    case .link, .auto: "Ableton Link"
    case .host: state.timebase.name
    case .midi: "MIDI clock"
    }
  }

  var timebase: String { state.timebase.name }

  var launch: String { "\(state.choices.launch.moment)" }
  var launchError: String { "\(signed(state.launchErrorMilliseconds, places: 2)) ms" }
  var drift: String { "\(signed(state.driftPartsPerMillion, places: 0)) ppm" }
  /// What a host that leads is off by, or one that follows and counts frames.
  var lag: String {
    if state.leading != .link { return ", phase \(leadError)" }
    return state.lagMilliseconds == 0 ? "" : ", lag \(signed(state.lagMilliseconds, places: 1)) ms"
  }

  var leadError: String { "\(signed(state.leadErrorMilliseconds, places: 1)) ms" }

  var click: String {
    guard state.choices.click.isOn else { return "off" }
    return state.choices.click.when == .always ? "always" : "rolling"
  }

  var sound: String {
    state.choices.click.sound.word
  }

  var clock: String {
    guard state.choices.clock.isOn else { return "off" }
    return state.choices.clock.when.word
  }

  var pulse: String {
    guard state.choices.pulse.isOn else { return "off" }
    return state.choices.pulse.rate == .bar ? "one a bar" : "\(state.choices.pulse.rate.word) a beat"
  }

  var server: String {
    guard state.jackConnected else { return "not there" }
    return "\(state.sampleRate) Hz, \(state.framesPerCycle) frames"
  }

  var xruns: String { state.xruns == 1 ? "1 xrun" : "\(state.xruns) xruns" }

  /// What to type into the tablet, as many lines as there are, the first the best; or how to get something to type.
  var reach: [String] {
    switch scene.reach {
    // It opens with the client.
    case .off: [state.jackConnected ? "off (--no-osc)" : "off"]
    case .thisMachine(let port): ["\(port), this machine only;", "tablet: --osc-listen=0.0.0.0"]
    case .network(let addresses, let port):
      addresses.isEmpty ? ["\(port), but no network now"] : addresses
    }
  }

  var shortReach: String {
    switch scene.reach {
    case .off: "off"
    case .thisMachine: "here only: --osc-listen=0.0.0.0"
    case .network: reach[0]
    }
  }

  private func signed(_ value: Double, places: Int) -> String {
    let text = decimal(value, places: places)
    return text.hasPrefix("-") ? text : "+" + text
  }
}

/// Without a locale: musicians abroad read the same as at home.
private func decimal(_ value: Double, places: Int) -> String {
  guard value.isFinite, value.magnitude < 1e9 else { return "-" }
  let scale = places == 0 ? 1.0 : places == 1 ? 10.0 : 100.0
  let scaled = Int64((value.magnitude * scale).rounded())
  let sign = value < 0 && scaled > 0 ? "-" : ""
  guard places > 0 else { return "\(sign)\(scaled)" }
  let fraction = "\(scaled % Int64(scale))"
  return "\(sign)\(scaled / Int64(scale))." + String(repeating: "0", count: places - fraction.count)
    + fraction
}
