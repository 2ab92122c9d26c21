// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

@testable import TactusSurface

/// A program that obeys commands without Link and JACK. All effects of a command are shown in `state`.
struct FakeProgram {
  var state = SurfaceState()
  var commands: [Command] = []
  var refuses: Refusal?
  var quit = false

  init() {
    // Every setting is off at first, so that each change by a controller is visible.
    state.choices.isLinkEnabled = false
    state.choices.clock.isOn = false
    state.choices.pulse.isOn = false
    state.choices.click.when = .rolling
  }

  mutating func obey(_ order: Order) -> Reply {
    commands.append(order.command)
    if let refuses { return .refused(refuses) }
    apply(order.command, at: order.time)
    return .accepted
  }

  mutating func apply(_ command: Command, at time: Micros) {
    switch command {
    case .choose(let choice, let values):
      state.choose(at: time) { choice.choose(&$0.choices, values) }
    case .start(let launch):
      let origin = state.next(launch ?? state.choices.launch.moment, after: time)
      state.transport = .waiting(origin: origin)
      state.link.isPlaying = true
    case .stop:
      state.transport = .stopped(at: .zero)
      state.link.isPlaying = false
    case .toggle: apply(state.isMoving ? .stop : .start(nil), at: time)
    case .rewind: state.transport = .stopped(at: .zero)
    case .locate(.beat(let beat)): state.transport = .stopped(at: Beats(beat))
    case .locate(.bar(let bar)):
      state.transport = .stopped(at: Beats(Double(bar - 1) * state.choices.meter.length.value))
    case .locate(.seconds(let seconds)):
      state.transport = .stopped(at: state.tempo.beats(in: Micros(rounding: seconds * 1e6)))
    case .rolling(let on):
      state.transport = on ? .rolling(origin: state.next(.now, after: time)) : .stopped(at: .zero)
    case .tempo(let tempo), .bentTempo(let tempo, _):
      state.timeline = state.timeline.turned(to: tempo, at: time)
    case .bend(let bend): state.choices.bend = bend
    case .align: state.timeline.beatOrigin = .zero
    case .timebase(let on): state.jack.timebase = on ? .tactus : .nobody
    case .takeover: state.jack.timebase = .tactus
    case .channel(.send(let text), let isOn):
      state.lists.sends = state.lists.sends.filter { $0 != text } + (isOn ? [text] : [])
    case .channel(.receive(let text), let isOn):
      state.lists.receives = state.lists.receives.filter { $0 != text } + (isOn ? [text] : [])
    case .roomOffset(let room, let offset): state.lists.calls = ["\(room) offset=\(offset.milliseconds)"]
    case .output(let output):
      state.lists.outputs = state.lists.outputs.filter { $0.name != output.name } + [output]
    case .removeOutput(let name): state.lists.outputs.removeAll { $0.name == name }
    case .song(let song):
      if let place = state.lists.songs.firstIndex(where: { $0.title == song.title }) {
        state.lists.songs[place] = song
      } else {
        state.lists.songs.append(song)
      }
    case .removeSong(let title): state.lists.songs.removeAll { $0.title == title }
    case .save: break
    case .quit: quit = true
    }
  }

  /// Makes the transport roll if the session has reached the beat of the launch (a start that waits).
  mutating func launchIfDue(at now: Micros) {
    if case .waiting(let origin) = state.transport, state.sessionBeats(at: now) >= origin {
      state.transport = .rolling(origin: origin)
    }
  }
}

extension Timeline {
  /// The timeline with another tempo from `time` on. The beat at `time` stays the same, and the session's
  /// beat 0 stays on the grid.
  func turned(to tempo: Tempo, at time: Micros) -> Timeline {
    Timeline(
      tempo: tempo, beatOrigin: beatOrigin, timeOrigin: time - tempo.micros(in: beats(at: time) - beatOrigin))
  }
}

extension Command {
  static func set(_ path: String, _ values: Value...) -> Command {
    .choose(Table.standard.choices.first { $0.path == path }!, values)
  }
}
