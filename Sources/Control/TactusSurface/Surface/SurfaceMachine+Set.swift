// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusMIDI
import TactusOSC

// Starts songs of the set list. A song's commands have the same rights as this machine's keys, because this
// machine's user wrote them.
extension SurfaceMachine {
  /// Starts a song at once, on the next beat or on the next bar. A later request replaces an earlier one.
  mutating func request(_ title: String, on launch: LaunchMoment, _ asker: Asker, at time: Micros)
    throws(Refusal)
  {
    // If a song's commands could start another song, this might never end.
    guard songBeingSaid == nil else { throw .refused("a song's commands can't change the set list") }
    guard let song = song(title) else { throw Refusal(.notNow, "the set list has no such song") }
    let cost = SetSong.cost(of: song.targets)
    try allowance.owe(cost)
    agenda.dropSongs()
    stopWaiting(at: time)
    guard launch != .now else { return play(song, song.targets, at: time) }
    // Stopped clocks wait for the bar by themselves, so send their start commands in advance.
    reading.own.outputsArmed = song.arming.map(\.output).filter {
      reading.output($0)?.settings.clock?.plays == false
    }
    say(song.arming, of: song.title, at: time)
    let beats = reading.state.next(launch, after: time)
    defer { tellChanges() }
    try postpone(
      ScheduledMessages.Entry(due: .beats(beats), task: .song(title), peer: asker.peer, cost: cost))
    reading.own.songWaiting = title
  }

  /// Cancels the waiting song, and stops the clocks that were started ahead for it.
  mutating func stopWaiting(at time: Micros) {
    let armed = reading.own.outputsArmed
    let title = reading.own.songWaiting
    reading.own.songWaiting = ""
    guard !armed.isEmpty else { return }
    reading.own.outputsArmed = []
    say(armed.map { Target(path: "out/\($0)/play", arguments: ["0"]) }, of: title, at: time)
  }

  /// Carries out the commands of the song whose beat has come.
  mutating func play(_ title: String, at time: Micros) {
    reading.own.songWaiting = ""
    reading.own.outputsArmed = []
    guard let song = song(title) else { return tellChanges() }
    let said = song.arming
    play(song, song.targets.filter { !said.contains($0) }, at: time)
  }

  private mutating func play(_ song: SetSong, _ targets: [Target], at time: Micros) {
    // Drop tempos that a fader or another song has set and that still wait.
    gate.drop()
    agenda.dropTempos()
    reading.own.song = song.title
    note(.song(song.title))
    say(targets, of: song.title, at: time)
    tellChanges()
  }

  private mutating func say(_ targets: [Target], of title: String, at time: Micros) {
    songBeingSaid = title
    defer { songBeingSaid = nil }
    // The sender was already charged for the whole song, so restore the allowance.
    let rest = allowance
    defer { allowance = rest }
    allowance = Allowance(SetSong.cost(of: targets))
    for target in targets { say(target, at: time) }
  }

  private mutating func say(_ target: Target, at time: Micros) {
    guard let row = table.place(of: target.path) else {
      return refuse(.unknown, Table.address(target.path), to: .keys)
    }
    say(table.rows[row].said(by: target), to: target, from: .keys, at: time)
  }

  private func song(_ title: String) -> SetSong? { reading.state.lists.songs.first { $0.title == title } }
}
