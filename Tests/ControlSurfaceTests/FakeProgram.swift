// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

@testable import ControlSurface

/// Does what a program does with commands, without Link and JACK: its whole world is the state.
struct FakeProgram {
  var state = SurfaceState()
  var commands: [Command] = []
  var refuses: Refusal?
  var quit = false

  mutating func obey(_ order: Order) -> Verdict {
    commands.append(order.command)
    if let refuses { return .refused(refuses) }
    apply(order.command, at: order.time)
    return .accepted
  }

  mutating func apply(_ command: Command, at time: Micros) {
    switch command {
    case .start(let launch):
      let origin = state.next(launch ?? state.launch, after: time)
      state.transport = .waiting(origin: origin)
      state.playing = true
    case .stop:
      state.transport = .stopped(at: .zero)
      state.playing = false
    case .toggle: apply(state.isMoving ? .stop : .start(nil), at: time)
    case .rewind: state.transport = .stopped(at: .zero)
    case .locate(.beat(let beat)): state.transport = .stopped(at: Beats(beat))
    case .locate(.bar(let bar)): state.transport = .stopped(at: Beats(Double((bar - 1) * state.meter.beats)))
    case .locate(.seconds(let seconds)):
      state.transport = .stopped(at: state.tempo.beats(in: Micros(rounding: seconds * 1e6)))
    case .record(let on): state.recording = on
    case .rolling(let on):
      state.transport = on ? .rolling(origin: state.next(.now, after: time)) : .stopped(at: .zero)
    case .tempo(let tempo):
      state.timeline = state.timeline.turned(to: tempo, at: time)
    case .quantum(let quantum): state.quantum = quantum
    case .meter(let meter): state.meter = meter
    case .launch(let launch): state.launch = launch
    case .alignment(let alignment): state.alignment = alignment
    case .stopWhen(let moment): state.stopWhen = moment
    case .correction(let correction): state.correction = correction
    case .correctAbove(let milliseconds): state.correctAboveMilliseconds = milliseconds
    case .align: state.timeline.beatOrigin = .zero
    case .linkEnabled(let on): state.linkEnabled = on
    case .startStopSync(let on): state.startStopSync = on
    case .lead(let lead): state.lead = lead
    case .timebase(let on): state.timebase = on ? .tactus : .nobody
    case .takeover: state.timebase = .tactus
    case .click(.enabled(let on)): state.click.enabled = on
    case .click(.when(let when)): state.click.when = when
    case .click(.gain(let gain)): state.click.gain = gain
    case .click(.sound(let sound)): state.click.sound = sound
    case .click(.pattern(let pattern)): state.click.pattern = pattern
    case .click(.subdivision(let count)): state.click.subdivision = count
    case .click(.countsIn(let on)): state.click.countsIn = on
    case .click(.offset(let milliseconds)):
      state.outputs[.click1].offsetMilliseconds = milliseconds
      state.outputs[.click2].offsetMilliseconds = nil
    case .clock(.enabled(let on)): state.clock.enabled = on
    case .clock(.whileStopped(let on)): state.clock.whileStopped = on
    case .clock(.settle(let milliseconds)): state.clock.settleMilliseconds = milliseconds
    case .pulse(.enabled(let on)): state.pulse.enabled = on
    case .pulse(.rate(let rate)): state.pulse.rate = rate
    case .offset(let output, let milliseconds): state.outputs[output].offsetMilliseconds = milliseconds
    case .quit: quit = true
    }
  }

  /// The host rolls when the session reaches the launch.
  mutating func launchIfDue(at now: Micros) {
    if case .waiting(let origin) = state.transport, state.sessionBeats(at: now) >= origin {
      state.transport = .rolling(origin: origin)
    }
  }
}

extension Timeline {
  /// The beat at this moment stays, and so does the grid: beat origin and the session's beat 0 belong together.
  func turned(to tempo: Tempo, at time: Micros) -> Timeline {
    Timeline(
      tempo: tempo, beatOrigin: beatOrigin, timeOrigin: time - tempo.micros(in: beats(at: time) - beatOrigin))
  }
}
