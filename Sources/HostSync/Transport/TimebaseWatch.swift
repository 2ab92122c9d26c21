// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices

/// Whose bar and beat JACK's transport shows.
public enum Timebase: UInt8, Sendable, BitwiseCopyable {
  case none
  case ours
  case foreign
}

/// What we last wrote as timebase master, whose bar and beat are shown now, and who is master.
struct TimebaseWatch: BitwiseCopyable {
  /// For so many cycles after ours something foreign may be shown though we are master.
  static let doubtfulCycles = 3

  private(set) var published: BBT?
  private var bars = Bars()
  private var shows = Timebase.none
  private(set) var master = Timebase.none
  private var doubtful = 0
  private var unit = TempoUnit()
  private var foreignTempo = 0.0
  /// For how long it has shown no sense more than sense while it led and rolled, in microseconds.
  private var nonsense = 0.0

  var isForeign: Bool { if case .foreign = master { true } else { false } }

  mutating func publish(_ shown: BBT, _ bars: Bars) {
    published = shown
    self.bars = bars
  }

  var wasOursLately: Bool { doubtful > 0 }

  /// Another client is master, and the user lets it lead.
  @inline(__always)
  func leads(_ now: borrowing Now) -> Bool {
    switch now.settings.lead {
    case .link, .midi: false
    case .host, .auto: isForeign
    }
  }

  /// What another client says as master, and when that is heard, whether it leads or not. Once a cycle.
  mutating func foreign(_ now: borrowing Now) -> LeaderReading {
    let heard = now.heard.time(atFrame: -Double(now.transport.bbtAge))
    judge(now)
    let shown = unit.shown(isForeign ? now.transport.bbt : nil, at: heard, isRolling: now.isRolling)
    foreignTempo = if case .beat(_, let tempo, _) = shown { tempo } else { 0 }
    return LeaderReading(shown: shown, heard: heard, isRolling: now.isRolling)
  }

  /// Hydrogen counts the ticks of the bar in a beat that stays the first. A locate's garbage is over after a cycle.
  private mutating func judge(_ now: borrowing Now) {
    guard leads(now), let bbt = now.transport.bbt else {
      nonsense = 0
      return
    }
    guard now.isRolling else { return }
    nonsense = bbt.beats == nil ? min(2e6, nonsense + now.cycleMicros) : max(0, nonsense - now.cycleMicros)
  }

  /// What this cycle shows. What comes with a locate, ours above all, is shown for a cycle though nobody took the timebase,
  /// and a master that was late shows old news: another is master who stays.
  mutating func read(_ shown: BBT?) {
    if case .ours = shows { doubtful = Self.doubtfulCycles } else { doubtful = max(0, doubtful - 1) }
    guard let shown else {
      shows = .none
      master = .none
      return
    }
    if let published, shown.isCopy(of: published) { shows = .ours } else { shows = .foreign }
    master = shows
    if case .foreign = shows, wasOursLately { master = .ours }
  }

  /// The song's beat that the transport's frame means: a foreign master's word for it, else the frame at the
  /// session's tempo.
  ///
  /// While the transport stands, a beat must come out as that beat although ticks are cut off and frames rounded: a
  /// start a hair behind it would leave it out. What came with a locate is shown for a cycle like a master's word, and
  /// where it agrees with the frame, the frame tells more.
  @inline(__always)
  func position(_ now: borrowing Now) -> Double {
    let beatMicros = now.grid.beatMicros
    let transport = now.transport
    var position = Song.beats(ofFrame: transport.frame, sampleRate: now.sampleRate, beatMicros: beatMicros)
    let isStanding = !now.isRolling
    if case .foreign = shows, let bbt = transport.bbt,
      let told = isStanding ? bbt.standingBeats : bbt.beats,
      abs(told - position) * Double(BBT.publishedTicksPerBeat) > 1
    {
      position = told
    }
    guard isStanding else { return position }
    let whole = ThirtySeconds.beats(ThirtySeconds.nearest(to: position, grain: now.settings.meter.grain))
    // Half a frame, and what the arithmetic adds.
    let hair = 0.51e6 / Double(max(1, now.sampleRate)) / beatMicros
    return abs(position - whole) <= hair ? whole : position
  }

  @inline(__always)
  func report(_ now: borrowing Now, _ bars: Bars, into report: inout Report) {
    report.timebase = master
    report.showsOther = true
    if let published {
      report.showsOther = published.tempo != now.session.tempo || !self.bars.isSame(as: bars)
    }
    report.shown = now.transport.bbt
    report.foreignTempo = foreignTempo
    report.isMasterSenseless = nonsense >= 1e6
  }
}
