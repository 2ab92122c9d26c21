// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath

/// What a controller can ask of the program, in plain values that may travel through an `SPSCQueue`.
///
/// Relative wishes (tap, nudge, half, up) have become absolute here: the surface does that arithmetic, so that
/// two quick presses add up. Numbers are within the ranges of the table.
public enum Command: Hashable, Sendable, BitwiseCopyable {
  /// nil: as the launch setting says.
  case start(Launch?)
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
  case launch(Launch)
  case alignment(Alignment)
  case stopWhen(Launch)
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
  case pattern(ClickPattern)
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

/// When a start, or a change of tempo, takes effect.
public enum Launch: UInt8, CaseIterable, Hashable, Sendable, BitwiseCopyable {
  case now, beat, bar
}

/// How near to its beat a start is: in the nearest cycle, or to the frame.
public enum Alignment: UInt8, CaseIterable, Hashable, Sendable, BitwiseCopyable {
  case nearest, exact
}

/// What is done about a host that counts frames and drifts: nothing, or a locate at the next bar.
public enum Correction: UInt8, CaseIterable, Hashable, Sendable, BitwiseCopyable {
  case off, locate
}

public enum Lead: UInt8, CaseIterable, Hashable, Sendable, BitwiseCopyable {
  case link, host, auto, midi
}

public enum ClickWhen: UInt8, CaseIterable, Hashable, Sendable, BitwiseCopyable {
  case always, rolling
}

public enum PulseRate: UInt8, CaseIterable, Hashable, Sendable, BitwiseCopyable {
  case bar, one, two, four, twentyFour, fortyEight

  public var word: String {
    switch self {
    case .bar: "bar"
    case .one: "1"
    case .two: "2"
    case .four: "4"
    case .twentyFour: "24"
    case .fortyEight: "48"
    }
  }
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

public struct Meter: Hashable, Sendable, BitwiseCopyable {
  public var beats: Int
  public var unit: Int

  public init(beats: Int, unit: Int) {
    self.beats = beats
    self.unit = unit
  }
}

/// What sounds on each click of the bar, repeated: accent, plain or silent. Up to 64 steps, without a heap.
public struct ClickPattern: Hashable, Sendable, BitwiseCopyable {
  public enum Step: Sendable, BitwiseCopyable { case silent, plain, accent }

  public static let limit = 64
  public private(set) var count = 0
  private var sounding: UInt64 = 0
  private var accented: UInt64 = 0

  /// Accent on the first beat of each bar, whatever the meter.
  public init() {}

  /// klick's letters: `X` accent, `x` plain, `.` silent. nil when it is longer than the limit or has others.
  public init?(_ letters: String) {
    guard letters.utf8.count <= Self.limit else { return nil }
    for letter in letters.utf8 {
      let bit: UInt64 = 1 << UInt64(count)
      switch letter {
      case UInt8(ascii: "X"):
        sounding |= bit
        accented |= bit
      case UInt8(ascii: "x"): sounding |= bit
      case UInt8(ascii: "."): break
      default: return nil
      }
      count += 1
    }
  }

  public func step(_ index: Int) -> Step {
    guard index >= 0, index < count else { return .silent }
    if accented >> UInt64(index) & 1 == 1 { return .accent }
    return sounding >> UInt64(index) & 1 == 1 ? .plain : .silent
  }

  public var letters: String {
    (0..<count).map { index in
      switch step(index) {
      case .accent: "X"
      case .plain: "x"
      case .silent: "."
      }
    }.joined()
  }
}
