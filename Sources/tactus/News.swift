// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices
import ControlSurface

/// What changed between two looks, in lines for the musician who may have wondered about it.
struct StudioNews {
  /// How things are at a look.
  struct Sight {
    /// All that there were since the last look: who leaves and comes back meanwhile has left.
    var peerCounts: [Int] = []
    /// Nobody has gone if it is we who rest.
    var isResting = false
    var isMute = false
    /// Why, as far as is known.
    var failure: String?
    var movedLaunches: UInt64 = 0
    var isGivenUp = false
    var corrections: UInt64 = 0
    var leftLate: UInt64 = 0
    var cutStarts: UInt64 = 0
    var standsStill = false
    var isMasterSenseless = false
    /// `launch-wait=stopped`, where a host or a sequencer's clock leads or may lead.
    var waitsInVain = false
    var lostMIDI: UInt64 = 0
    var midiClock = SurfaceState.MIDIClockIn.off
  }

  private enum Clock {
    case nothing, locked, lost, echo
  }

  private var before = Sight()
  private var losesMIDI = false
  private var clock = Clock.nothing
  /// In the session, besides us.
  private(set) var peers = 0
  /// The number of the last line; while tactus rests, the number without a line.
  private var saidPeers = 0
  private var peerLines: TokenBucket?

  /// Limits for lines about the number of peers, because any neighbour can change that number at any rate.
  static let peerLinesAtOnce = 8.0
  static let peerLinesPerMinute = 6.0

  mutating func lines(_ sight: Sight, at now: Micros) -> [String] {
    var lines = peerLines(sight, at: now)
    if sight.isMute != before.isMute {
      let why = sight.failure.map { " (\($0))" } ?? ""
      lines.append(
        sight.isMute ? "Link can't be on the network\(why); trying again" : "Link is on the network")
    }
    if sight.movedLaunches > before.movedLaunches {
      lines.append("another JACK client was not ready: the start moves to the next boundary")
    }
    if sight.isGivenUp, !before.isGivenUp {
      lines.append(
        "another JACK client does not get ready: JACK starts without it in the end, on no bar; a stop ends that"
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
      lines.append("MIDI messages are lost: more come in or go out than can be kept")
    }
    losesMIDI = losesMore
    if let line = line(sight.midiClock) { lines.append(line) }
    before = sight
    return lines
  }

  /// About what JACK or another client does against what was asked for.
  private func jackLines(_ sight: Sight) -> [String] {
    var lines: [String] = []
    if sight.cutStarts > before.cutStarts {
      lines.append(
        "JACK did not wait for the start: another client has shortened JACK's sync timeout; tactus asks for starts later"
      )
    }
    if sight.standsStill, !before.standsStill {
      lines.append("JACK's transport says that it rolls, and stands still: tactus locates it")
    }
    if sight.isMasterSenseless, !before.isMasterSenseless {
      lines.append("the timebase master shows bars that make no sense: its tempo can lead, its beat cannot")
    }
    if sight.waitsInVain, !before.waitsInVain {
      lines.append(
        "launch-wait=stopped does nothing while a host or a MIDI clock may lead (lead is not link)")
    }
    return lines
  }

  /// If fewer lines are left than changes came, the newest numbers get them; the next free line has the number of its moment.
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

  /// Of the sequencer whose MIDI clock leads.
  private mutating func line(_ midiClock: SurfaceState.MIDIClockIn) -> String? {
    let (new, line): (Clock, String?) =
      switch midiClock {
      case .off, .silent: (.nothing, nil)
      case .acquiring: (clock, nil)
      case .locked(let tempo): (.locked, "MIDI clock leads: \(tempo.beatsPerMinute) BPM")
      case .lost: (.lost, "MIDI clock lost; its tempo stays")
      case .echo:
        (
          .echo,
          "the MIDI clock that leads is tactus's own, which comes back: disconnect its way out or its way in"
        )
      }
    defer { clock = new }
    return new == clock ? nil : line
  }
}

/// What happens to the music, in lines for who has no view: starts, stops, the tempo, who leads.
struct PlayNews {
  /// A hand that moves a fader has come to rest.
  static let rest = Micros(500_000)
  /// A patchbay, or tactus itself with `--autoconnect`, has plugged in the click by then.
  static let patience = Micros(3_000_000)

  private var before: SurfaceState?
  private var clickLostSince: Micros?
  private var saidClickIsLost = false
  private var tempo: Tempo?
  private var movedAt = Micros.zero

  mutating func lines(_ state: SurfaceState, at now: Micros) -> [String] {
    defer { before = state }
    var lines: [String] = []
    if state.isClickLost {
      let since = clickLostSince ?? now
      clickLostSince = since
      if !saidClickIsLost, now - since >= Self.patience {
        saidClickIsLost = true
        lines.append(
          "the click is connected to nothing: connect click_1 in a patchbay, or start tactus with --autoconnect"
        )
      }
    } else {
      clickLostSince = nil
      saidClickIsLost = false
    }
    guard let before else {
      tempo = state.tempo
      return lines
    }
    // What comes and goes with the server has lines of its own.
    if state.status != before.status, state.jackConnected, before.jackConnected { lines.append(state.status) }
    // So has a MIDI clock.
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

/// Where the peers are, as text: looked up when their number changes and once a second, for one may come as another goes, but
/// not more often than each `pause`, because any neighbour can change the number thousands of times a second.
struct PeerList {
  static let interval = Micros(1_000_000)
  static let pause = Micros(250_000)

  private var text = ""
  private var count = 0
  private var asked: Micros?

  mutating func look(at now: Micros, count: Int, _ ask: () -> String) -> String {
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
