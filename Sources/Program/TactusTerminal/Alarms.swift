// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusSurface

// Measured values, and the state of JACK's timebase. The view shows them only while they are not normal.
extension Facts {
  /// The largest normal drift in ppm: that of two crystals of 100 ppm each, one too fast and one too slow.
  private static let crystals = 200.0

  private var state: SurfaceState { scene.state }
  private var period: Double {
    Double(state.jack.framesPerCycle) * 1000 / Double(max(1, state.jack.sampleRate))
  }

  var alarms: [(name: String, words: String)] {
    [
      timebaseAlarm.map { ("Timebase", $0) }, distanceAlarm, driftAlarm.map { ("Drift", $0) },
      startAlarm.map { ("Last start", $0) },
    ].compactMap(\.self)
  }

  /// The alarm if other programs see the bars moved by an offset, or if tactus is not timebase master. A host
  /// that leads may be timebase master.
  private var timebaseAlarm: String? {
    guard state.jack.isRunning else { return nil }
    let isUsual = state.jack.timebase == .tactus && !state.jack.leavesTimebase
    // The leader is shown in a row of its own.
    return isUsual && offset(.jack).isEmpty || state.leading == .host && offset(.jack).isEmpty
      ? nil : state.master + offset(.jack)
  }

  /// How far the outputs are from the beat. This is the bend that the user set by hand; otherwise the
  /// phase error of a leading host, or the lag of a follower that counts frames.
  private var distanceAlarm: (name: String, words: String)? {
    if state.readings.aheadMilliseconds != 0 {
      return ("By hand", "outputs \(signed(state.readings.aheadMilliseconds, places: 1)) ms")
    }
    let isLed = state.leading != .link
    let distance = isLed ? state.readings.leadErrorMilliseconds : state.readings.lagMilliseconds
    guard abs(distance) > state.choices.correctAbove.milliseconds else { return nil }
    return (isLed ? "Phase" : "Lag", "\(signed(distance, places: 1)) ms")
  }

  private var driftAlarm: String? {
    abs(state.readings.driftPartsPerMillion) > Self.crystals
      ? "\(signed(state.readings.driftPartsPerMillion, places: 0)) ppm" : nil
  }

  /// The alarm if the last start missed its beat by more than half a period. A start in the nearest cycle
  /// misses its beat by at most half a period, and so does a start in the song's first period.
  private var startAlarm: String? {
    guard state.readings.hasLaunched, abs(state.readings.launchErrorMilliseconds) > period / 2 + 0.1 else {
      return nil
    }
    return "\(signed(state.readings.launchErrorMilliseconds, places: 2)) ms from its beat"
  }

  /// The jitter: the largest distance of recent clocks or pulses from their exact times. Empty if the
  /// jitter is at most a frame, the finest step that JACK allows. The value is a multiple of 10.
  func jitter(_ port: Port, _ glyphs: Glyphs) -> String {
    let micros = state.readings.jitterMicros[port]
    let isUsual = micros <= 1e6 / Double(max(1, state.jack.sampleRate)) + 5
    return isUsual ? "" : ", within \(shortest(micros)) \(glyphs.micros)"
  }
}
