// SPDX-License-Identifier: GPL-2.0-or-later
import TactusSurface

// The options of the set list and of the messages to other programs.
extension Configuration {
  static let setOptions: [Option<Configuration>] = [
    Option(
      "song", in: .session, .value("TITLE=COMMAND, ...", .song, \.songs), isRemembered: true,
      help:
        "Adds a song to the set list: a title, and the commands that tactus carries out when you go to "
        + "the song, as in \"Opener = tempo 128, meter 4 4, click/pattern X..x\". A pedal, the page or OSC "
        + "goes to the next song with set/next. Up to \(SetSong.limit) songs; can be repeated."
    )
  ]

  static let outwardOptions: [Option<Configuration>] = [
    Option(
      "osc-tell", in: .surface, .value("WHEN ADDRESS:PORT /address ...", .outward, \.surface.out),
      reach: .start,
      help:
        "Send this OSC message to another program at each tempo, beat, bar, start or stop, with arithmetic in braces: "
        + "\"tempo 192.168.7.9:10023 /fx/1/par/01 {60000 / bpm * 3/4}\". Up to \(OutwardLine.limit); can be repeated."
    )
  ]

  var setList: [SetSong] { songs.compactMap { try? SetSong($0) } }
}

extension ValueRule {
  static let song = ValueRule(
    SetSong.allowed, judge: { text in refusal { () throws(Refusal) in _ = try SetSong(text) } }
  ).listed(atMost: SetSong.limit) { SetSong.title(of: $0) }
  static let outward = ValueRule(
    OutwardLine.allowed, judge: { text in refusal { () throws(Refusal) in _ = try OutwardLine(text) } }
  ).listed(atMost: OutwardLine.limit)

  /// The text of the refusal that `read` throws; nil: `read` throws nothing.
  static func refusal(_ read: () throws(Refusal) -> Void) -> String? {
    do throws(Refusal) { try read() } catch { return error.text }
    return nil
  }
}

extension CommandHandler {
  /// Adds a song at the end of the set list, or gives the song with this title new commands. [any]
  func put(_ song: SetSong, lasts: Bool) -> Reply {
    let present = state.lists.songs
    guard present.count < SetSong.limit || present.contains(where: { $0.title == song.title }) else {
      return .notNow("at most \(SetSong.limit) songs are possible")
    }
    choose(lasts) { state in
      if let place = state.lists.songs.firstIndex(where: { $0.title == song.title }) {
        state.lists.songs[place] = song
      } else {
        state.lists.songs.append(song)
      }
    }
    return .accepted
  }

  /// Removes the song with this title from the set list. [any]
  func removeSong(_ title: String, lasts: Bool) -> Reply {
    guard state.lists.songs.contains(where: { $0.title == title }) else {
      return .notNow("the set list has no such song")
    }
    choose(lasts) { $0.lists.songs.removeAll { $0.title == title } }
    return .accepted
  }
}
