// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import MIDIControl

/// What a hand did without OSC.
enum Touch: Sendable {
  case midi(MIDIMessage)
  case key([Target])
}

/// What hands did and what waits to be looked at, in its order, within what that may cost.
///
/// When more comes than can be looked at, the oldest move of the same knob makes room for its newest: where it stopped arrives, and
/// a pedal beside it is never left out for it.
struct Hands {
  private var waiting: [(touch: Touch, time: Micros)] = []
  private var budget: TokenBucket
  private(set) var lost = 0

  init(at now: Micros) {
    budget = TokenBucket(perSecond: Cost.hands.perSecond, capacity: Cost.hands.atOnce, at: now)
  }

  mutating func put(_ touch: Touch, at time: Micros) {
    if waiting.count >= SurfaceLimits.touches {
      waiting.remove(at: waiting.firstIndex { $0.touch.isOf(touch) } ?? 0)
      lost += 1
    }
    waiting.append((touch, time))
  }

  /// nil: nothing waits, or there is nothing to spend on it.
  mutating func next(at now: Micros) -> (touch: Touch, time: Micros)? {
    guard !waiting.isEmpty, budget.has(Double(Cost.touch), at: now) else { return nil }
    return waiting.removeFirst()
  }

  /// What looking at it came to.
  mutating func charge(_ cost: Int, at now: Micros) { budget.spend(Double(cost), at: now) }

  /// How many were left out since the last time.
  mutating func takeLost() -> Int {
    defer { lost = 0 }
    return lost
  }

  /// When the next can be looked at.
  var deadline: Micros? { waiting.isEmpty ? nil : budget.time(of: Double(Cost.touch)) }
}

extension Touch {
  /// Of the same knob, key or pedal.
  fileprivate func isOf(_ other: Touch) -> Bool {
    switch (self, other) {
    case (.midi(let message), .midi(let newer)): message.event == newer.event
    case (.key(let targets), .key(let newer)): targets == newer
    case (.midi, .key), (.key, .midi): false
    }
  }
}
