// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import ControlSurface
import TactusChoices

// Measured values and JACK's timebase, which the view shows only while they are not as they should be.
extension Facts {
  /// Two crystals of 100 ppm, one faster and one slower.
  private static let crystals = 200.0

  private var state: SurfaceState { scene.state }
  private var period: Double { Double(state.framesPerCycle) * 1000 / Double(max(1, state.sampleRate)) }

  var alarms: [(name: String, words: String)] {
    [
      timebaseAlarm.map { ("Timebase", $0) }, distanceAlarm, driftAlarm.map { ("Drift", $0) },
      startAlarm.map { ("Last start", $0) },
    ].compactMap(\.self)
  }

  /// Another program than tactus is timebase master, or none; or other programs see the bars moved.
  private var timebaseAlarm: String? {
    guard state.jackConnected else { return nil }
    let isUsual = state.timebase == .tactus && !state.leavesTimebase
    // The leader has a row of its own.
    return isUsual && offset(.jack).isEmpty || state.leading == .host && offset(.jack).isEmpty
      ? nil : state.master + offset(.jack)
  }

  /// An advance that the user set by hand; else the phase error of a host that leads, or the lag of one that
  /// follows and counts frames.
  private var distanceAlarm: (name: String, words: String)? {
    if state.aheadMilliseconds != 0 {
      return ("By hand", "outputs \(signed(state.aheadMilliseconds, places: 1)) ms")
    }
    let isLed = state.leading != .link
    let distance = isLed ? state.leadErrorMilliseconds : state.lagMilliseconds
    guard abs(distance) > state.choices.correctAbove.milliseconds else { return nil }
    return (isLed ? "Phase" : "Lag", "\(signed(distance, places: 1)) ms")
  }

  private var driftAlarm: String? {
    abs(state.driftPartsPerMillion) > Self.crystals
      ? "\(signed(state.driftPartsPerMillion, places: 0)) ppm" : nil
  }

  /// A start in the nearest cycle is right within half a period, and so is every start from the song's first
  /// period.
  private var startAlarm: String? {
    guard state.hasLaunched, abs(state.launchErrorMilliseconds) > period / 2 + 0.1 else { return nil }
    return "\(signed(state.launchErrorMilliseconds, places: 2)) ms from its beat"
  }

  /// The largest distance of recent clocks or pulses from their places; empty within a frame, which is all
  /// that JACK allows. The value is rounded to 10.
  func jitter(_ port: Port, _ glyphs: Glyphs) -> String {
    let micros = state.jitterMicros[port]
    let isUsual = micros <= 1e6 / Double(max(1, state.sampleRate)) + 5
    return isUsual ? "" : ", within \(shortest(micros)) \(glyphs.micros)"
  }
}
