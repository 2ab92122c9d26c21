// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

/// The client that owns the bar and beat on JACK's transport.
public enum Timebase: UInt8, Sendable, BitwiseCopyable {
  case none
  case ours
  case foreign
}

/// Watches the bar and beat on JACK's transport. It finds which client is timebase master and which client
/// wrote the shown position, and keeps the position that we wrote last.
struct TimebaseWatch: BitwiseCopyable {
  /// The number of cycles after our position in which another client's position may be shown although we are
  /// master.
  static let doubtfulCycles = 3

  private(set) var published: BBT?
  private var bars = Bars()
  private var shows = Timebase.none
  private(set) var master = Timebase.none
  private var doubtful = 0
  private var unit = TempoUnit()
  private var foreignTempo = 0.0
  /// The microseconds for which the leading master showed senseless positions while rolling, minus those for
  /// which it showed sensible positions.
  private var nonsense = 0.0

  var isForeign: Bool { if case .foreign = master { true } else { false } }

  mutating func publish(_ shown: BBT, _ bars: Bars) {
    published = shown
    self.bars = bars
  }

  var wasOursLately: Bool { doubtful > 0 }

  /// Returns whether another client is master, and the user lets it lead.
  @inline(__always)
  func leads(_ now: borrowing CycleContext) -> Bool {
    switch now.settings.lead {
    case .link, .midi: false
    case .host, .auto: isForeign
    }
  }

  /// The position that another client shows as timebase master, and the time at which that position is heard.
  /// The client need not be the leader. Call this once a cycle.
  mutating func foreign(_ now: borrowing CycleContext) -> LeaderReading {
    let heard = now.heard.time(atFrame: -Double(now.transport.bbtAge))
    judge(now)
    let shown = unit.shown(isForeign ? now.transport.bbt : nil, at: heard, isRolling: now.isRolling)
    foreignTempo = if case .beat(_, let tempo, _) = shown { tempo } else { 0 }
    return LeaderReading(shown: shown, heard: heard, isRolling: now.isRolling)
  }

  /// Judges whether the master's bars make sense. Hydrogen's bars do not: its ticks count through the whole
  /// bar, and its beat is always 1. Garbage after a locate lasts one cycle.
  private mutating func judge(_ now: borrowing CycleContext) {
    guard leads(now), let bbt = now.transport.bbt else {
      nonsense = 0
      return
    }
    guard now.isRolling else { return }
    nonsense = bbt.beats == nil ? min(2e6, nonsense + now.cycleMicros) : max(0, nonsense - now.cycleMicros)
  }

  /// Reads the position of this cycle. The position of a locate (mostly one of ours) is shown for a cycle
  /// although no client took the timebase, and a late master shows an old position. So another client counts
  /// as master only if its position is shown for longer.
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

  /// The song's beat at the transport's frame. If another client is master, the beat comes from that client's
  /// position; otherwise it comes from the frame at the session's tempo.
  ///
  /// While the transport stands on a beat, the result must be exactly that beat, although ticks are cut off
  /// and frames rounded: a start slightly after a beat would leave that beat out. The position of a locate is
  /// shown for a cycle like a master's position. If that position agrees with the frame, the frame is used,
  /// because it is more exact.
  @inline(__always)
  func position(_ now: borrowing CycleContext) -> Double {
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
    // The limit is half a frame, and a little for rounding errors.
    let hair = 0.51e6 / Double(max(1, now.sampleRate)) / beatMicros
    return abs(position - whole) <= hair ? whole : position
  }

  @inline(__always)
  func report(_ now: borrowing CycleContext, _ bars: Bars, into report: inout MasterReport) {
    report.timebase = master
    report.showsOther = true
    if let published {
      report.showsOther = published.tempo != now.session.tempo || !self.bars.isSame(as: bars)
    }
    report.shown = now.transport.bbt
    report.foreignTempo = foreignTempo
    report.isSenseless = nonsense >= 1e6
  }
}
