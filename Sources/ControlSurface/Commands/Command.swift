// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
public import Choices

/// What a controller can ask of the program, in plain values that may travel through an `SPSCQueue`.
///
/// Relative wishes (tap, nudge, half, up) have become absolute here: the surface does that arithmetic, so that
/// two quick presses add up. Numbers are within the ranges of the table.
public enum Command: Hashable, Sendable, BitwiseCopyable {
  /// nil: as the launch setting says.
  case start(LaunchMoment?)
  case stop
  /// Start when stopped; stop when rolling or waiting for the launch.
  case toggle
  case rewind
  case locate(Place)
  case record(Bool)
  case rolling(Bool)

  case tempo(Tempo)
  case quantum(Double)
  case meter(Meter)
  case launch(LaunchMoment)
  case alignment(Alignment)
  case stopWhen(LaunchMoment)
  case correction(Correction)
  /// Lags below this are not corrected.
  case correctAbove(milliseconds: Double)
  /// Put beat 0 here, as far as the session allows.
  case align
  case linkEnabled(Bool)
  case startStopSync(Bool)
  case lead(Lead)
  /// true: become timebase master if nobody is; false: give it up.
  case timebase(Bool)
  /// Become timebase master whoever is.
  case takeover

  case click(ClickChange)
  case clock(ClockChange)
  case pulse(PulseChange)
  /// What leaves here is heard this much later than JACK's latency says, so it is sent earlier.
  case offset(Output, milliseconds: Double)

  case quit
}

public enum ClickChange: Hashable, Sendable, BitwiseCopyable {
  case enabled(Bool)
  case when(ClickWhen)
  /// Linear amplitude.
  case gain(Float)
  case sound(Int)
  case pattern(Pattern)
  case subdivision(Int)
  /// Of both ports: the second has none of its own any more.
  case offset(milliseconds: Double)
  /// While a launch waits, the beats before the song's first one sound too.
  case countsIn(Bool)
}

public enum ClockChange: Hashable, Sendable, BitwiseCopyable {
  case enabled(Bool)
  case whileStopped(Bool)
  /// What a receiver gets between a song position and Continue.
  case settle(milliseconds: Double)
}

public enum PulseChange: Hashable, Sendable, BitwiseCopyable {
  case enabled(Bool)
  case rate(PulseRate)
}

public enum Output: UInt8, CaseIterable, Hashable, Sendable, BitwiseCopyable {
  case click1, click2, clock, pulse, run
  /// What other JACK clients are shown as bar, beat and tick.
  case jack

  /// The output whose offset it has, as long as it has none of its own.
  var follows: Output? {
    switch self {
    case .click2: .click1
    case .run: .pulse
    case .click1, .clock, .pulse, .jack: nil
    }
  }

  /// Where its rows lie in the table.
  var path: String {
    switch self {
    case .click1: "click/1"
    case .click2: "click/2"
    case .clock, .pulse, .run, .jack: "\(self)"
    }
  }
}

public enum Place: Hashable, Sendable, BitwiseCopyable {
  /// Song beats from the start.
  case beat(Double)
  /// The first bar is 1.
  case bar(Int)
  case seconds(Double)
}
