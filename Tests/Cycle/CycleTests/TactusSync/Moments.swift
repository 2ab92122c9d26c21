// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

@testable import TactusSync

extension CycleContext {
  /// A cycle whose first frame is heard at `heard`.
  init(
    _ session: SessionState, heard: Double, transport: Transport = Transport(state: .stopped, frame: 0),
    frames: UInt32 = 256, frameMicros: Double = 1e6 / 48_000, settings: Settings = Settings(),
    isSound: Bool = true
  ) {
    var cycle = Cycle(
      frames: frames, sampleRate: 48_000,
      times: RawTimes(frame: 0, wakeMicros: 0, isPairValid: false, currentMicros: 0, nextMicros: 0),
      transport: transport, latencies: PerPort(repeating: 0), clock: .identity,
      session: SessionView(session, startStopsTaken: 0),
      settings: settings, settingsNumber: 0, sounds: SoundBank())
    var freeze = FreewheelSession()
    self.init(
      &cycle, &freeze, line: FrameLine(start: heard, frameMicros: frameMicros), frameMicros: frameMicros,
      isSound: isSound)
  }
}

extension SessionState {
  /// A session whose beat 0 is at the time `beatZero`. With `playing`, it plays since that time.
  init(beatZero: Double = 0, tempo: Double = 120, playing: Double? = nil, isConnected: Bool = false) {
    self.init(
      timeline: Timeline(
        tempo: Tempo(tempo), beatOrigin: .zero, timeOrigin: Micros(Int64(beatZero.rounded()))),
      startStop: ClientStartStop(
        isPlaying: playing != nil, time: Micros(Int64((playing ?? 0).rounded())), timestamp: .zero),
      isConnected: isConnected)
  }
}
