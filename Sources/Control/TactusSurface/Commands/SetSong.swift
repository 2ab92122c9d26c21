// SPDX-License-Identifier: GPL-2.0-or-later
public import TactusMIDI
import TactusOSC

/// A song of the set list and its commands: `Opener = tempo 128, meter 4 4, click/pattern X..x,
/// out/drums/play 1`.
public struct SetSong: Hashable, Sendable {
  /// The length limit of the text in bytes.
  public static let longest = 600
  public static let longestTitle = 64
  /// How many commands a song may have.
  public static let mostTargets = 24
  /// How many songs a set list may have.
  public static let limit = 128
  public static let allowed =
    "TITLE = COMMAND, COMMAND ... as in \"Opener = tempo 128, meter 4 4, click/pattern X..x\""

  public let title: String
  public let targets: [Target]

  /// Parses a song's text. A refusal names the part that is wrong.
  public init(_ text: String) throws(Refusal) {
    guard text.utf8.count <= Self.longest, text.isPrintable else {
      throw .range("at most \(Self.longest) bytes of printable text")
    }
    guard let sign = text.firstIndex(of: "=") else { throw .range("a song is written \(Self.allowed)") }
    let title = Self.title(of: text)
    guard (1...Self.longestTitle).contains(title.utf8.count) else {
      throw .range("a title has 1 to \(Self.longestTitle) bytes")
    }
    let parts = Target.split(text[sign...].dropFirst())
    guard parts.count <= Self.mostTargets else { throw .range("at most \(Self.mostTargets) commands") }
    var targets: [Target] = []
    for part in parts {
      guard let target = Target(part) else {
        throw .range(
          part.allSatisfy { $0 == " " }
            ? "a command is missing"
            : "\"\(printable(String(part), limit: 60))\" is not an address followed by its arguments")
      }
      // A song's commands must not start another song.
      guard !target.path.hasPrefix("set/") else {
        throw .range("\(target.path): a song's commands can't change the set list")
      }
      targets.append(target)
    }
    if let objection = Table.standard.objection(to: targets, ofKey: true) { throw .range(objection) }
    self.title = title
    self.targets = targets
  }

  /// The title in a song's text: all before the equals sign.
  public static func title(of text: String) -> String {
    text.prefix { $0 != "=" }.split(separator: " ").joined(separator: " ")
  }

  public var text: String { "\(title) = " + targets.map(\.description).joined(separator: ", ") }

  /// The song's commands that start a clock. The clock itself waits for the bar, so the surface carries
  /// these commands out in advance.
  var arming: [Target] {
    targets.filter { $0.path.hasPrefix("out/") && $0.path.hasSuffix("/play") && $0.arguments == ["1"] }
  }

  /// The highest cost that carrying out these commands can have.
  static func cost(of targets: [Target]) -> Int {
    targets.reduce(0) { cost, target in
      let isReshaping = ["out/add", "out/remove"].contains(target.path)
      return cost + Cost.message + Cost.refusal + (isReshaping ? Cost.reshaping : 0)
    }
  }
}

extension SurfaceMemory {
  /// Keeps the place in the set list when songs are added or removed, even if the current song is removed.
  mutating func keepPlace(in songs: [SetSong], before: [SetSong]) {
    let titles = Set(songs.map(\.title))
    let place = before.firstIndex { $0.title == song } ?? songsBehind
    songsBehind = before.prefix(place).count { titles.contains($0.title) }
  }
}

extension Target {
  /// The NAME in an address `out/NAME/...`.
  var output: String { path.split(separator: "/").dropFirst().first.map(String.init) ?? "" }
}

/// The titles of three songs: the current song, the song that waits for its beat or bar, and the song to
/// which `set/next` goes. Empty: none.
public struct SetPlace: Hashable, Sendable {
  public var song = ""
  public var waiting = ""
  public var coming = ""

  public init(song: String = "", waiting: String = "", coming: String = "") {
    (self.song, self.waiting, self.coming) = (song, waiting, coming)
  }
}

extension Reading {
  var place: SetPlace {
    SetPlace(song: own.song, waiting: own.songWaiting, coming: songAfter?.title ?? "")
  }

  /// The indices of the songs before and after the place in the set list. The place is the waiting song if
  /// there is one, otherwise the current song. Either index may be out of range.
  private var places: (before: Int, after: Int) {
    let title = own.songWaiting.isEmpty ? own.song : own.songWaiting
    if let place = state.lists.songs.firstIndex(where: { $0.title == title }) {
      return (place - 1, place + 1)
    }
    return (own.songsBehind - 1, own.songsBehind)
  }

  /// The number of the current song, from 1; 0: no song was played yet.
  var songNumber: Int { (state.lists.songs.firstIndex { $0.title == own.song } ?? -1) + 1 }

  /// The song after the place in the set list; nil: there is none.
  var songAfter: SetSong? {
    state.lists.songs.indices.contains(places.after) ? state.lists.songs[places.after] : nil
  }

  func nextSong() throws(Refusal) -> SetSong {
    guard let song = songAfter else {
      throw Refusal(
        .notNow, state.lists.songs.isEmpty ? "the set list is empty" : "this is the last song of the set list"
      )
    }
    return song
  }

  func previousSong() throws(Refusal) -> SetSong {
    guard state.lists.songs.indices.contains(places.before) else {
      throw Refusal(
        .notNow,
        state.lists.songs.isEmpty ? "the set list is empty" : "this is the first song of the set list")
    }
    return state.lists.songs[places.before]
  }
}
