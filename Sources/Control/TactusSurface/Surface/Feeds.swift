// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusOSC

/// A message that is sent at a musical moment rather than when a setting changes.
struct Feed {
  let path: String
  let group: Group
  let arguments: [Argument]

  init(_ path: String, _ group: Group, _ arguments: Argument...) { self.init(path, group, told: arguments) }

  init(_ path: String, _ group: Group, told arguments: [Argument]) {
    self.path = path
    self.group = group
    self.arguments = arguments
  }

  init(_ path: String, _ group: Group, lit: Bool) { self.init(path, group, .float32(lit ? 1 : 0)) }
}

/// Computes when the next beat sounds, and what is sent at that time. Everything is computed from the
/// session's timeline; nothing counts ticks. In this type, a beat is a note of the meter.
struct Feeds {
  /// The start of the current note in 32nds from `shownOrigin`, and the number of its bar.
  private var beat: Int64
  private var bar: Int64
  private var light: Int?
  private var lightsDue = false
  private var phaseDue: Micros
  private var positionDue: Micros
  private var heartbeatDue: Micros
  private var isHeartbeatOn = false
  private var timelineDue = true
  private var toldPosition: [String: [Argument]] = [:]
  private var toldCountIn: Double?

  init(state: SurfaceState, at now: Micros) {
    beat = state.shownNote(at: now)
    bar = Self.bar(of: beat, state)
    (phaseDue, positionDue, heartbeatDue) = (now, now, now)
  }

  mutating func stateChanged(from old: SurfaceState, to new: SurfaceState, at now: Micros) {
    if old.timeline != new.timeline || old.choices.quantum != new.choices.quantum
      || old.transport != new.transport || old.bars != new.bars
    {
      timelineDue = true
    }
    renumber(from: old, to: new, at: now)
  }

  /// Renumbers the running beat after a launch or a stop. No new beat begins, but the lights may have to
  /// change.
  private mutating func renumber(from old: SurfaceState, to new: SurfaceState, at now: Micros) {
    let before = Self.beatInBar(beat, old)
    let note = old.shownBars.meter(at: beat).note
    let moved = (old.shownOrigin - new.shownOrigin).millionths
    let there = beat &+ moved / ThirtySeconds.millionths
    if moved % ThirtySeconds.millionths == 0, new.shownBars.place(of: there).rest == 0,
      new.shownBars.meter(at: there).note == note
    {
      beat = there
    } else {
      // In the new meter, no note begins at this 32nd.
      beat = new.shownNote(at: now)
    }
    bar = Self.bar(of: beat, new)
    if Self.beatInBar(beat, new) != before { lightsDue = true }
  }

  private static func bar(of beat: Int64, _ state: SurfaceState) -> Int64 {
    state.shownBars.place(of: beat).bar
  }

  private static func beatInBar(_ beat: Int64, _ state: SurfaceState) -> Int {
    Int(state.shownBars.place(of: beat).note)
  }

  /// The next time at which something is due for one of these groups; nil: nothing will be due.
  func deadline(for audience: Group, state: SurfaceState, at now: Micros) -> Micros? {
    var next: Micros?
    func consider(_ time: Micros) { next = min(next ?? time, time) }
    if !audience.isDisjoint(with: [.beat, .exact]) {
      // Wake one microsecond after the boundary. Rounding could otherwise give a time before the boundary,
      // and the loop would spin.
      let boundary = state.time(atSessionBeats: state.nextShownNote(after: now)) + Micros(1)
      consider(max(boundary, now + Micros(100)))
    }
    if audience.contains(.exact), timelineDue { consider(now) }
    if audience.contains(.phase) { consider(phaseDue) }
    if audience.contains(.position) { consider(positionDue) }
    if audience.contains(.heartbeat) { consider(heartbeatDue) }
    return next
  }

  /// The messages that are due now.
  mutating func due(for audience: Group, state: SurfaceState, at now: Micros) -> [Feed] {
    var due: [Feed] = []
    let beat = state.shownNote(at: now)
    let bar = Self.bar(of: beat, state)
    if beat != self.beat {
      let isNewBar = bar != self.bar
      (self.beat, self.bar) = (beat, bar)
      if audience.contains(.beat) { due += beatFeeds(state, at: now) }
      if isNewBar { timelineDue = true }
    } else if lightsDue, audience.contains(.beat) {
      due += lights(state)
    }
    lightsDue = false
    if audience.contains(.exact), timelineDue {
      timelineDue = false
      due += Self.exact(state, at: now)
    }
    if audience.contains(.phase), now >= phaseDue {
      phaseDue = max(phaseDue + SurfaceLimits.phaseInterval, now)
      due += phaseFeeds(state, at: now)
    }
    if audience.contains(.position), now >= positionDue {
      positionDue = max(positionDue + SurfaceLimits.positionInterval, now)
      for feed in Self.position(state, at: now) where toldPosition[feed.path] != feed.arguments {
        toldPosition[feed.path] = feed.arguments
        due.append(feed)
      }
    }
    if audience.contains(.heartbeat), now >= heartbeatDue {
      heartbeatDue = max(heartbeatDue + SurfaceLimits.heartbeatInterval, now)
      isHeartbeatOn.toggle()
      due.append(Feed("heartbeat", .heartbeat, lit: isHeartbeatOn))
    }
    return due
  }

  /// All current values, for a subscriber that subscribes between two moments.
  mutating func snapshot(for groups: Group, state: SurfaceState, at now: Micros) -> [Feed] {
    var feeds: [Feed] = []
    if groups.contains(.beat) {
      let current = Self.beatInBar(beat, state)
      for index in 0..<Table.beatLights {
        feeds.append(Feed("beat/\(index + 1)", .beat, lit: index == current))
      }
      feeds.append(Feed("downbeat", .beat, lit: current == 0))
    }
    if groups.contains(.phase) { feeds += Self.countIn(state, at: now) }
    if groups.contains(.position) { feeds += Self.position(state, at: now) }
    if groups.contains(.exact) { feeds += Self.exact(state, at: now) }
    return feeds
  }

  private mutating func beatFeeds(_ state: SurfaceState, at now: Micros) -> [Feed] {
    let current = Self.beatInBar(beat, state)
    let shownBar: Int64
    switch state.transport {
    case .stopped(let position): shownBar = Self.barNumber(position, state)
    case .waiting, .rolling: shownBar = bar &+ 1
    }
    return [Feed("beat", .beat, .int32(Int32(current + 1)), .int32(Int32(clamping: shownBar)))]
      + lights(state)
  }

  /// Turns the light of the beat before off, and the light of the current beat on.
  private mutating func lights(_ state: SurfaceState) -> [Feed] {
    let current = Self.beatInBar(beat, state)
    var feeds: [Feed] = []
    if let light, light != current {
      feeds.append(Feed("beat/\(light + 1)", .beat, lit: false))
    }
    light = current < Table.beatLights ? current : nil
    if let light { feeds.append(Feed("beat/\(light + 1)", .beat, lit: true)) }
    feeds.append(Feed("downbeat", .beat, lit: current == 0))
    return feeds
  }

  private mutating func phaseFeeds(_ state: SurfaceState, at now: Micros) -> [Feed] {
    let phase = state.shownPlace(at: now) / Double(state.shownBar(at: now))
    let wait = state.notesToLaunch(at: now)
    var feeds = [Feed("phase", .phase, .float32(Float(finite: phase)))]
    if wait != 0 || toldCountIn != 0 { feeds += Self.countIn(state, at: now) }
    toldCountIn = wait
    return feeds
  }

  private static func countIn(_ state: SurfaceState, at now: Micros) -> [Feed] {
    let wait = state.notesToLaunch(at: now)
    let text = wait > 0 ? "\(Int64(flooring: wait) &+ (wait > wait.rounded(.down) ? 1 : 0))" : " "
    return [
      Feed("countin", .phase, .float32(Float(finite: wait))),
      Feed("countin/str", .phase, .string(text)),
    ]
  }

  private static func barNumber(_ song: Beats, _ state: SurfaceState) -> Int64 {
    state.bars.place(at: song.value).bar &+ 1
  }

  private static func position(_ state: SurfaceState, at now: Micros) -> [Feed] {
    let song = state.songBeats(at: now)
    let bar = barNumber(song, state)
    let place = state.bars.place(at: song.value)
    let tick = Int64(flooring: place.passed * 1920)
    let text = "\(padded(bar, 3))|\(padded(place.note &+ 1, 2))|\(padded(tick, 4))"
    return [
      Feed("position/bbt", .position, .string(text)),
      Feed("position/time", .position, .string(clock(state.tempo.micros(in: song)))),
      Feed("position/bar", .position, .int32(Int32(clamping: bar))),
    ]
  }

  private static func clock(_ time: Micros) -> String {
    let millis = Int64(clamping: time.count.magnitude / 1000)
    let text =
      "\(padded(millis / 3_600_000, 2)):\(padded(millis / 60_000 % 60, 2)):\(padded(millis / 1000 % 60, 2))"
      + ".\(padded(millis % 1000, 3))"
    return time.count < 0 ? "-" + text : text
  }

  private static func exact(_ state: SurfaceState, at now: Micros) -> [Feed] {
    return [
      Feed(
        "timeline", .exact, .float64(state.tempo.beatsPerMinute),
        .float64(state.sessionBeats(at: now).value), .float64(Double(now.count)),
        .float64(state.choices.quantum)),
      Feed("song", .exact, told: state.songTold(at: now)),
    ]
  }
}
