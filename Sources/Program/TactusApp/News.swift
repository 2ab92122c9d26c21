// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusSurface

/// Compares the state with that of the last poll, and makes lines about the changes that a musician may
/// wonder about.
struct StudioNews {
  /// The state at one poll.
  struct Sight {
    /// Every number of peers since the last poll, so that a peer that left and came back meanwhile is
    /// reported.
    var peerCounts: [Int] = []
    /// Whether tactus itself is off the network (`Presence`). Peers may then be in the session even if their
    /// number is 0.
    var isResting = false
    var isMute = false
    /// Why Link is not on the network, if known.
    var failure: String?
    var movedLaunches: UInt64 = 0
    var isGivenUp = false
    var corrections: UInt64 = 0
    var leftLate: UInt64 = 0
    var cutStarts: UInt64 = 0
    var standsStill = false
    var isMasterSenseless = false
    /// Whether `launch-wait=stopped` has no effect, because a host or a MIDI clock leads or may lead.
    var waitsInVain = false
    var lostMIDI: UInt64 = 0
    /// Whether a peer has started the session while start/stop sync is off here.
    var unfollowed: UnfollowedPlay?
    /// Whether the session plays, and tactus with it, because start/stop sync is on.
    var sharesPlay = false
    /// Whether a start waits for its beat.
    var isWaiting = false
    /// Whether the transport rolls while the server freewheels. JACK then starts at once and does not wait
    /// for the beat.
    var rollsInExport = false
    var midiClock = SurfaceState.MIDIClockIn.off
    /// Song sync leaves a loop of less than two bars alone.
    var leavesLoopAlone = false
  }

  /// A session that plays without tactus, because start/stop sync is off here.
  struct UnfollowedPlay: Equatable {
    /// The peers' names from `PeerList`, and the number of peers.
    var peers = ""
    var count = 1
    /// The key or the command that switches sync on.
    var hint = "s"

    /// The line says "from now on": switching sync on has no effect before a peer's next start or stop.
    var line: String {
      "\(count == 1 && !peers.isEmpty ? "the Link app at \(peers)" : "a Link app") started without tactus; "
        + "\(hint): start and stop together from now on"
    }
  }

  private enum Clock {
    case nothing, locked, lost, echo
  }

  private var before = Sight()
  private var losesMIDI = false
  private var clock = Clock.nothing
  /// The number of peers in the session, without tactus.
  private(set) var peers = 0
  /// The number of peers in the last line. While tactus is off the network, this follows the present number,
  /// without a line.
  private var saidPeers = 0
  private var peerLines: TokenBucket?
  private var playLines: TokenBucket?

  /// Limits for lines about the number of peers: any neighbour can change that number at any rate.
  static let peerLinesAtOnce = 8.0
  static let peerLinesPerMinute = 6.0

  mutating func lines(_ sight: Sight, at now: Micros) -> [String] {
    var lines = peerLines(sight, at: now) + playLines(sight, at: now)
    if sight.isMute != before.isMute {
      let why = sight.failure.map { " (\($0))" } ?? ""
      lines.append(
        sight.isMute ? "Link can't use the network\(why); trying again" : "Link is on the network")
    }
    if sight.movedLaunches > before.movedLaunches {
      lines.append("another JACK client was not ready: the start waits for the next bar or beat")
    }
    if sight.isGivenUp, !before.isGivenUp {
      lines.append(
        "another JACK client is not getting ready: JACK will start without it, off the bar; press stop "
          + "to cancel"
      )
    }
    if sight.corrections > before.corrections {
      lines.append("the DAW had drifted from the session: tactus moved it back")
    }
    if sight.leftLate > before.leftLate {
      lines.append(
        "another JACK client took too long to get ready: the song is late until the next locate or start"
      )
    }
    lines += jackLines(sight)
    let losesMore = sight.lostMIDI > before.lostMIDI
    if losesMore, !losesMIDI {
      lines.append("MIDI messages are lost: too many come in or go out at once")
    }
    losesMIDI = losesMore
    if let line = line(sight.midiClock) { lines.append(line) }
    before = sight
    return lines
  }

  /// Lines about JACK or other clients that do not do what tactus asks for.
  private func jackLines(_ sight: Sight) -> [String] {
    var lines: [String] = []
    if sight.cutStarts > before.cutStarts {
      lines.append(
        "JACK did not wait for the start: another client may have shortened JACK's sync timeout. From "
          + "now on tactus asks JACK to start only just before the bar or beat"
      )
    }
    if sight.rollsInExport, before.isWaiting {
      lines.append("JACK started at once, off the bar, because it is exporting (freewheeling)")
    }
    if sight.standsStill, !before.standsStill {
      lines.append(
        "JACK's transport reports that it rolls, but stands still: tactus sends it to its place again")
    }
    if sight.isMasterSenseless, !before.isMasterSenseless {
      lines.append("the timebase master shows bars that make no sense: its tempo can lead, its beat cannot")
    }
    if sight.leavesLoopAlone, !before.leavesLoopAlone {
      lines.append("song sync: a loop of less than two bars is heard on this machine alone")
    }
    if sight.waitsInVain, !before.waitsInVain {
      lines.append(
        "--launch-wait=stopped has no effect while a host or a MIDI clock may lead; it needs --lead=link")
    }
    return lines
  }

  /// Returns a line for each new number of peers. If the limit allows fewer lines, they show the newest
  /// numbers; a later call then reports the number at that time.
  private mutating func peerLines(_ sight: Sight, at now: Micros) -> [String] {
    var pace =
      peerLines
      ?? TokenBucket(perSecond: Self.peerLinesPerMinute / 60, capacity: Self.peerLinesAtOnce, at: now)
    defer { peerLines = pace }
    peers = sight.peerCounts.last ?? peers
    guard !sight.isResting else {
      saidPeers = peers
      return []
    }
    var new: [Int] = []
    for count in sight.peerCounts + [peers] where count != new.last ?? saidPeers { new.append(count) }
    let said = new.suffix(Int(pace.left(at: now)))
    saidPeers = said.last ?? saidPeers
    pace.spend(Double(said.count), at: now)
    return said.map(links)
  }

  /// The line about a peer's start without tactus. Any neighbour can start at any rate, so the number of
  /// these lines is limited, too.
  private mutating func playLines(_ sight: Sight, at now: Micros) -> [String] {
    var pace =
      playLines
      ?? TokenBucket(perSecond: Self.peerLinesPerMinute / 60, capacity: Self.peerLinesAtOnce, at: now)
    defer { playLines = pace }
    guard let play = sight.unfollowed, before.unfollowed == nil, !before.sharesPlay, pace.left(at: now) >= 1
    else { return [] }
    pace.spend(1, at: now)
    return [play.line]
  }

  /// The line about the leading MIDI clock, if its state changed.
  private mutating func line(_ midiClock: SurfaceState.MIDIClockIn) -> String? {
    let (new, line): (Clock, String?) =
      switch midiClock {
      case .off, .silent: (.nothing, nil)
      case .acquiring, .unknown: (clock, nil)
      case .locked(let tempo): (.locked, "MIDI clock leads: \(tempo.beatsPerMinute) BPM")
      case .lost: (.lost, "MIDI clock lost: tactus keeps its last tempo")
      case .echo:
        (
          .echo,
          "the MIDI clock that leads is tactus's own, looped back: disconnect the port clock or the port "
            + "control"
        )
      }
    defer { clock = new }
    return new == clock ? nil : line
  }
}

/// Lines about the music for a terminal without the view: starts, stops, the tempo, the leader. The view
/// shows these itself, so it gets only a line about a click that has been silent since the start.
struct PlayNews {
  /// A new tempo is reported when it has stayed for this time: the hand at the fader has come to rest.
  static let rest = Micros(500_000)
  /// The time after which a click without a connection is reported: a patchbay, or tactus itself with
  /// `--autoconnect`, has then had time to connect it.
  static let connectTimeout = Micros(3_000_000)

  private var before: SurfaceState?
  private var clickLostSince: Micros?
  private var saidClickIsLost = false
  /// Whether the click was off or connected since the start, so that the user knows about it.
  private var isClickKnown = false
  private var tempo: Tempo?
  private var movedAt = Micros.zero

  /// The line about a silent click in the view, where the key `m` switches the click on and connects it.
  static let silentClick = "The click is on, but connected to nothing: press m twice to connect it"

  /// A line about a click that is on and connected to nothing; nil: there is none, or it was reported.
  private mutating func clickLine(_ state: SurfaceState, at now: Micros, inView: Bool) -> String? {
    guard state.isClickLost else {
      clickLostSince = nil
      saidClickIsLost = false
      isClickKnown = isClickKnown || state.jack.isRunning
      return nil
    }
    let since = clickLostSince ?? now
    clickLostSince = since
    guard !saidClickIsLost, now - since >= Self.connectTimeout else { return nil }
    saidClickIsLost = true
    if inView { return isClickKnown ? nil : Self.silentClick }
    return
      "the click is connected to nothing: connect click_1 in a patchbay, or start tactus with --autoconnect"
  }

  mutating func lines(_ state: SurfaceState, at now: Micros, inView: Bool = false) -> [String] {
    defer { before = state }
    var lines = clickLine(state, at: now, inView: inView).map { [$0] } ?? []
    if inView { return lines }
    guard let before else {
      tempo = state.tempo
      return lines
    }
    // No line about the transport here: other lines report that the server has started or is lost.
    if state.status != before.status, state.jack.isRunning, before.jack.isRunning {
      lines.append(state.status)
    }
    // A leading MIDI clock has lines of its own, too.
    if state.leading != before.leading, state.leading == .host || before.leading == .host {
      lines.append("\(state.leading == .host ? "another client" : state.leader) leads")
    }
    if state.tempo != before.tempo { movedAt = now }
    if state.tempo != tempo, now - movedAt >= Self.rest {
      tempo = state.tempo
      lines.append("tempo \(fixed(state.tempo.beatsPerMinute, 2)) BPM")
    }
    return lines
  }
}

/// The peers as text. tactus looks them up when their number changes, and once a second because one peer may
/// replace another. There is at least `pause` between two lookups, because any neighbour can change the
/// number thousands of times a second.
struct PeerList {
  static let interval = Micros(1_000_000)
  static let pause = Micros(250_000)

  private var text = ""
  private var count = 0
  private var asked: Micros?

  mutating func poll(at now: Micros, count: Int, _ ask: () -> String) -> String {
    guard count > 0 else {
      (text, self.count) = ("", 0)
      return text
    }
    let pause = count == self.count ? Self.interval : Self.pause
    if let asked, now - asked < pause { return text }
    (text, self.count, asked) = (ask(), count, now)
    return text
  }
}

extension Startup {
  /// Prints the first lines: the view's, for a user who may know no key yet, and one about options without
  /// effect.
  func greet(inView: Bool) {
    if inView, isFirst, configuration.keys.isEmpty {
      Console.say("m plays the click, w opens the page, ? shows all keys")
    }
    if !configuration.choices.audio.isOn, !configuration.sends.isEmpty || !configuration.receives.isEmpty {
      Console.say("Link Audio is off, so --send and --receive have no effect: tactus send link/audio 1")
    }
  }
}
