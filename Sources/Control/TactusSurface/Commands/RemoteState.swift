// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath
import TactusChoices
import TactusMIDI
public import TactusOSC

/// The state of another tactus, reconstructed by the table's rows from the OSC messages of that tactus.
///
/// A state word that was never received counts as unknown. Any other value that was never received is the
/// default. A message that the table does not know, or with wrong arguments, changes nothing.
public struct RemoteState: Sendable {
  public private(set) var state = SurfaceState()
  /// The other tactus's clock minus this machine's clock, in microseconds; zero on the same machine.
  public var ahead = Micros.zero { didSet { if ahead != oldValue { place() } } }
  private var timeline: (tempo: Double, beat: Double, moment: Double)?
  /// The addresses at which the other tactus listens for OSC.
  public private(set) var endpoints: [String] = []

  public init() {
    state.doing = .unknown
    state.leading = .auto
    state.midiClock = .unknown
    state.jack.timebase = .unknown
    state.page.reach = .unknown
    state.audio.thread = .unknown
    state.jack.sinkState = .unknown
  }

  /// Takes a message and changes the state, if the message is valid.
  public mutating func receive(_ message: Message) {
    guard let path = Table.path(of: message.address) else { return }
    // The feed `song` has a number of arguments that varies with its bars, so no row reads it.
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

  /// Sets the timeline on this machine's clock. Beat 0 is the session's beat 0, as in the message.
  private mutating func place() {
    guard let timeline else { return }
    let tempo = Tempo(timeline.tempo).clamped
    let moment = Micros(rounding: timeline.moment) - ahead
    let line = Timeline(tempo: tempo, beatOrigin: Beats(timeline.beat), timeOrigin: moment)
    state.timeline = Timeline(tempo: tempo, beatOrigin: .zero, timeOrigin: line.time(at: .zero))
  }
}

extension Table {
  /// The message that a key sends to another tactus; nil: the address does not exist.
  package func message(_ target: Target) -> Message? {
    guard let row = row(target.path) else {
      // Only the running program knows the addresses of its outputs.
      return try? message([target.path] + target.arguments)
    }
    return Message(Table.address(target.path), arguments: row.said(by: target))
  }
}
