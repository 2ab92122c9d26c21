// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusMIDI

/// Input of this machine that does not come by OSC.
enum LocalInput: Sendable {
  case midi(MIDIMessage)
  case key([Target])
}

/// The queue of local input, in order and within a budget.
///
/// If the queue is full, the oldest message of the same knob makes room for the new one. So the knob's final
/// position always arrives, and a busy knob never displaces a pedal.
struct LocalInputQueue {
  private var waiting: [(touch: LocalInput, time: Micros)] = []
  private var budget: TokenBucket
  private(set) var lost = 0

  init(at now: Micros) {
    budget = TokenBucket(perSecond: Cost.hands.perSecond, capacity: Cost.hands.atOnce, at: now)
  }

  mutating func put(_ touch: LocalInput, at time: Micros) {
    if waiting.count >= SurfaceLimits.touches {
      waiting.remove(at: waiting.firstIndex { $0.touch.isOf(touch) } ?? 0)
      lost += 1
    }
    waiting.append((touch, time))
  }

  /// Takes the next input; nil: the queue is empty, or the budget is used up.
  mutating func next(at now: Micros) -> (touch: LocalInput, time: Micros)? {
    guard !waiting.isEmpty, budget.has(Double(Cost.touch), at: now) else { return nil }
    return waiting.removeFirst()
  }

  /// Charges the cost of handling the input.
  mutating func charge(_ cost: Int, at now: Micros) { budget.spend(Double(cost), at: now) }

  /// Returns how much input was dropped since the last call.
  mutating func takeLost() -> Int {
    defer { lost = 0 }
    return lost
  }

  /// When the next input can be handled; nil: none waits.
  var deadline: Micros? { waiting.isEmpty ? nil : budget.time(of: Double(Cost.touch)) }
}

extension LocalInput {
  /// Whether both inputs come from the same knob, key or pedal.
  fileprivate func isOf(_ other: LocalInput) -> Bool {
    switch (self, other) {
    case (.midi(let message), .midi(let newer)): message.event == newer.event
    case (.key(let targets), .key(let newer)): targets == newer
    case (.midi, .key), (.key, .midi): false
    }
  }
}
