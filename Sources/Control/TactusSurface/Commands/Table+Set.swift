// SPDX-License-Identifier: GPL-2.0-or-later
import TactusChoices
import TactusOSC

// The set list. A song's commands use the addresses of other rows.
extension Table {
  static let set: [Node] = [
    .trigger(
      "set/next", "Goes to the next song of the set list: at once, or on the next beat or bar.",
      optional: [when]
    ) {
      values, it throws(Refusal) in .song(try it.nextSong().title, launch(values))
    },
    .trigger(
      "set/previous", "Goes to the previous song of the set list: at once, or on the next beat or bar.",
      optional: [when]
    ) {
      values, it throws(Refusal) in
      .song(try it.previousSong().title, launch(values))
    },
    .order(
      "set/go", [.whole(1...SetSong.limit)],
      "Goes to the song of this number: at once, or on the next beat or bar.",
      optional: [when]
    ) { values, it throws(Refusal) in
      guard it.state.lists.songs.indices.contains(values[0].whole - 1) else {
        throw Refusal(.notNow, "the set list has \(it.state.lists.songs.count) songs")
      }
      return .song(it.state.lists.songs[values[0].whole - 1].title, launch(values.dropFirst()))
    },
    .count("set/number", "", "The number of the current song; 0 before the first song.") {
      $0.songNumber
    },
    .value(
      "set/song", [.text(limit: SetSong.longestTitle)],
      "The title of the current song. Send another title to go to that song: at once, or on the next "
        + "beat or bar.",
      optional: [when],
      read: { [.text($0.own.song)] },
      write: { values, it throws(Refusal) in
        guard it.state.lists.songs.contains(where: { $0.title == values[0].text }) else {
          throw Refusal(.notNow, "the set list has no song \"\(printable(values[0].text, limit: 40))\"")
        }
        return .song(values[0].text, launch(values.dropFirst()))
      }
    ).restoring { $0.place.song = $1[0].text },
    .label("set/coming", "The title of the next song, to which set/next goes.") { $0.songAfter?.title ?? "" }
      .restoring { $0.place.coming = $1[0].text },
    .label("set/waits", "The title of the song that waits for its beat or bar.") { $0.own.songWaiting }
      .restoring { $0.place.waiting = $1[0].text },
    .label("set/list", "The songs of the set list, with their numbers.") { it in
      let words = it.state.lists.songs.enumerated().map { "\($0.offset + 1) \($0.element.title)" }
      return words.isEmpty ? "none" : printable(words.joined(separator: ", "), limit: 250)
    },
    .order(
      "set/add", [.text(limit: SetSong.longest)],
      "Adds a song at the end of the set list, or gives new commands to the song of that title: "
        + "\(SetSong.allowed).",
      from: .thisMachine
    ) { values, _ throws(Refusal) in
      .command(.song(try SetSong(values[0].text)))
    },
    .order(
      "set/remove", [.text(limit: SetSong.longestTitle)],
      "Removes the song with this title from the set list.",
      from: .thisMachine
    ) { values, _ in .command(.removeSong(values[0].text)) },
  ]

  /// The number of songs in one row of titles. Even with the longest titles, the row fits a datagram.
  static let titlesPerRow = 16
  static let titleRows = SetSong.limit / titlesPerRow

  static let songTitles: [Node] = (0..<titleRows).map { row in
    let first = row * titlesPerRow
    return .list(
      "set/titles/\(row + 1)",
      "The number of songs from \(first + 1) to \(first + titlesPerRow) in the set list, then their "
        + "titles."
    ) { $0.state.lists.songs.dropFirst(first).prefix(titlesPerRow).map(\.title) }
  }

  /// The title of a row of song titles, such as "Titles of songs 17 to 32"; nil: `path` is another row.
  static func titleOfSongs(_ path: String) -> String? {
    let stem = "set/titles/"
    guard path.hasPrefix(stem), let row = Int(path.dropFirst(stem.count)) else { return nil }
    return "Titles of songs \((row - 1) * titlesPerRow + 1) to \(row * titlesPerRow)"
  }

  private static func launch(_ values: some Collection<Value>) -> LaunchMoment {
    values.first.map { LaunchMoment.allCases[$0.whole] } ?? .now
  }
}
