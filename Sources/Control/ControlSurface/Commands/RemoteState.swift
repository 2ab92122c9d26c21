// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
import MIDIControl
import TactusChoices
public import TactusOSC

/// The state of another tactus, reconstructed from its OSC messages by the rows of the table.
///
/// States that were never told are unknown, and other values those of a fresh state. A message that the table
/// does not know, or with wrong arguments, changes nothing.
public struct RemoteState: Sendable {
  public private(set) var state = SurfaceState()
  /// The other tactus's clock minus this machine's; zero on the same machine.
  public var ahead = Micros.zero { didSet { if ahead != oldValue { place() } } }
  private var timeline: (tempo: Double, beat: Double, moment: Double)?
  /// The addresses at which the other tactus listens for OSC.
  public private(set) var endpoints: [String] = []

  public init() {
    state.doing = .unknown
    state.leading = .auto
    state.midiClock = .unknown
    state.timebase = .unknown
    state.page = .unknown
    state.audio.thread = .unknown
    state.sinkState = .unknown
  }

  /// Takes a message and changes the state as far as it is valid.
  public mutating func receive(_ message: Message) {
    guard let path = Table.path(of: message.address) else { return }
    // The bars in `song` are a list without a fixed number of arguments.
    if path == "song" { return state.takeSong(message.arguments) }
    guard let row = Table.standard.row(path) ?? Table.ownOutput(path),
      let values = row.heard(message.arguments)
    else { return }
    row.restore?(&state, values)
    if path == "timeline" {
      timeline = (values[0].number, values[1].number, values[2].number)
      place()
    } else if path == "osc/open" {
      endpoints = values.listed
    }
  }

  /// Sets the timeline on this machine's clock. Beat 0 is the session's, as in the message.
  private mutating func place() {
    guard let timeline else { return }
    let tempo = Tempo(timeline.tempo).clamped
    let moment = Micros(rounding: timeline.moment) - ahead
    let line = Timeline(tempo: tempo, beatOrigin: Beats(timeline.beat), timeOrigin: moment)
    state.timeline = Timeline(tempo: tempo, beatOrigin: .zero, timeOrigin: line.time(at: .zero))
  }
}

extension Table {
  /// The message that a key sends to a tactus which runs elsewhere; nil: there is no such address.
  package func message(_ target: Target) -> Message? {
    guard let row = row(target.path) else {
      // Only the running program knows which outputs exist.
      return try? message([target.path] + target.arguments)
    }
    return Message(Table.address(target.path), arguments: row.said(by: target))
  }
}
