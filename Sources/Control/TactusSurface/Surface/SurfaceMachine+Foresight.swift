// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusMIDI

/// The next change that waits for a beat, as it was last announced to the program.
struct Foresight {
  fileprivate(set) var change: QueuedChange?
  /// The value of `ScheduledMessages.changes` when `change` was computed.
  fileprivate var agenda: UInt64 = 0
  /// Whether the state has changed since `change` was computed. The same tasks may then lead to
  /// another change.
  var isOld = false
}

// Announces the next tempo or song, which still waits for its beat. Outputs that are sent early must know the
// next tempo and meter in advance.
extension SurfaceMachine {
  mutating func foresee() {
    guard foresight.isOld || foresight.agenda != agenda.changes else { return }
    foresight.agenda = agenda.changes
    foresight.isOld = false
    showWaitingTempo()
    let next = nextChange
    guard next != foresight.change else { return }
    foresight.change = next
    put(.queued(next))
  }

  private mutating func showWaitingTempo() {
    let tempo = agenda.waitingTempo ?? 0
    guard tempo != reading.own.tempoWaiting else { return }
    reading.own.tempoWaiting = tempo
    tellChanges()
  }

  private var nextChange: QueuedChange? {
    guard let (beat, tasks) = agenda.onNextBeat else { return nil }
    var tempo: Double?
    var ahead = reading
    ahead.own.expectedTempo = nil
    loop: for task in tasks {
      switch task {
      case .message: continue
      case .tempo(let next): tempo = next
      case .song(let title):
        play(title, &ahead)
        tempo = ahead.own.expectedTempo ?? tempo
        // When a song takes effect, it removes the queued tempos behind it for the same beat.
        break loop
      }
    }
    var change = QueuedChange(at: beat)
    switch reading.state.leading {
    // While a host or a MIDI clock leads, we may not set the tempo.
    case .host, .midi: break
    case .link, .auto: change.tempo = tempo.map { Tempo($0).clamped }
    }
    let meter = ahead.state.choices.meter
    if meter != reading.state.choices.meter { change.meter = meter }
    return change.tempo == nil && change.meter == nil ? nil : change
  }

  /// Applies to `ahead` the song's tempo and choices, as far as the song changes them at once.
  private func play(_ title: String, _ ahead: inout Reading) {
    guard let song = reading.state.lists.songs.first(where: { $0.title == title }) else { return }
    for target in song.targets {
      guard let index = table.place(of: target.path) else { continue }
      let row = table.rows[index]
      guard let values = try? row.accept(row.said(by: target)), let write = row.write else { continue }
      let intent = try? write(values, ahead)
      if case .tempo(let tempo, .now) = intent { ahead.own.expectedTempo = tempo }
      if case .command(.choose(let choice, let values)) = intent {
        choice.choose(&ahead.state.choices, values)
      }
    }
  }
}
