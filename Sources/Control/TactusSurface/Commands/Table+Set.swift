// SPDX-License-Identifier: GPL-2.0-or-later
import TactusChoices
import TactusOSC

// The set list. A song's commands use the addresses of other rows.
extension Table {
  static let set: [Node] = [
    .trigger(
      "set/next", "Takes the set list's next song: at once, on the next beat or on the next bar.",
      optional: [when]
    ) {
      values, it throws(Refusal) in .song(try it.nextSong().title, launch(values))
    },
    .trigger("set/previous", "Takes the set list's previous song.", optional: [when]) {
      values, it throws(Refusal) in
      .song(try it.previousSong().title, launch(values))
    },
    .order(
      "set/go", [.whole(1...SetSong.limit)],
      "Takes the song of this number: at once, on the next beat or bar.",
      optional: [when]
    ) { values, it throws(Refusal) in
      guard it.state.lists.songs.indices.contains(values[0].whole - 1) else {
        throw Refusal(.notNow, "the set has \(it.state.lists.songs.count) songs")
      }
      return .song(it.state.lists.songs[values[0].whole - 1].title, launch(values.dropFirst()))
    },
    .count("set/number", "", "The number of the song that was taken last; 0 before the first song.") {
      $0.songNumber
    },
    .value(
      "set/song", [.text(limit: SetSong.longestTitle)],
      "The title of the song that was taken last. Set it to take the song of that title.", optional: [when],
      read: { [.text($0.own.song)] },
      write: { values, it throws(Refusal) in
        guard it.state.lists.songs.contains(where: { $0.title == values[0].text }) else {
          throw Refusal(.notNow, "the set has no \(printable(values[0].text, limit: 40))")
        }
        return .song(values[0].text, launch(values.dropFirst()))
      }
    ).restoring { $0.place.song = $1[0].text },
    .label("set/coming", "The title of the song that set/next takes.") { $0.songAfter?.title ?? "" }
      .restoring { $0.place.coming = $1[0].text },
    .label("set/waits", "The title of the song that waits for its beat or bar.") { $0.own.songWaiting }
      .restoring { $0.place.waiting = $1[0].text },
    .label("set/list", "The set's songs, with their numbers.") { it in
      let words = it.state.lists.songs.enumerated().map { "\($0.offset + 1) \($0.element.title)" }
      return words.isEmpty ? "none" : printable(words.joined(separator: ", "), limit: 250)
    },
    .order(
      "set/add", [.text(limit: SetSong.longest)],
      "Adds a song at the set's end, or gives one that is there other commands: \(SetSong.allowed).",
      from: .thisMachine
    ) { values, _ throws(Refusal) in
      .command(.song(try SetSong(values[0].text)))
    },
    .order(
      "set/remove", [.text(limit: SetSong.longestTitle)], "Removes the song of this TITLE from the set.",
      from: .thisMachine
    ) { values, _ in .command(.removeSong(values[0].text)) },
  ]

  /// Songs in one row of titles: with the longest titles it still fits a datagram.
  static let titlesPerRow = 16
  static let titleRows = SetSong.limit / titlesPerRow

  static let songTitles: [Node] = (0..<titleRows).map { row in
    let first = row * titlesPerRow
    return .list(
      "set/titles/\(row + 1)",
      "How many of the set's songs \(first + 1) to \(first + titlesPerRow) there are, and the title of each."
    ) { $0.state.lists.songs.dropFirst(first).prefix(titlesPerRow).map(\.title) }
  }

  private static func launch(_ values: some Collection<Value>) -> LaunchMoment {
    values.first.map { LaunchMoment.allCases[$0.whole] } ?? .now
  }
}
