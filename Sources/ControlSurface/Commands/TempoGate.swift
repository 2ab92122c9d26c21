// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// A fader sends hundreds of tempos a second, and each one that goes to the session goes to every peer: at most 20 a
/// second pass, the first at once, and the last always.
struct TempoGate<Asker> {
  static var interval: Micros { Micros(50_000) }

  private var last: Micros?
  private var held: (tempo: Double, asker: Asker)?

  /// The tempo to pass on now, if one may pass.
  mutating func offer(
    _ tempo: Double, from asker: Asker, at now: Micros
  ) -> (tempo: Double, asker: Asker)? {
    held = (tempo, asker)
    return due(at: now)
  }

  mutating func due(at now: Micros) -> (tempo: Double, asker: Asker)? {
    guard let waiting = held, now >= deadline ?? now else { return nil }
    held = nil
    last = now
    return waiting
  }

  /// When the held one passes.
  var deadline: Micros? {
    guard held != nil else { return nil }
    guard let last else { return nil }
    return last + Self.interval
  }

  /// A tempo set for a beat or a bar takes the place of what a fader still had to say.
  mutating func drop() { held = nil }
}
