// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Linux
import Synchronization

/// What the control thread asks of libjack, any of which may wait for ever: of a server that was stopped a moment ago
/// nobody knows it yet. libjack knows one server at a time, so there is one of these, and other threads may look at it.
public enum Question {
  /// On Link's clock; 0: nothing is asked.
  private static let since = Atomic<Int64>(0)
  /// How long answers were waited for so far.
  private static let waited = Atomic<Int64>(0)

  /// [any]
  public static var isOpen: Bool { since.load(ordering: .relaxed) != 0 }

  /// The server has had time enough. [any]
  public static var isUnanswered: Bool {
    let since = since.load(ordering: .relaxed)
    return since != 0 && HostClock.micros().count - since >= Watchdog.longestSilence.count
  }

  static var totalWait: Micros { Micros(waited.load(ordering: .relaxed)) }

  /// One within another is part of it. [control]
  static func ask<Answer, Failure: Error>(_ question: () throws(Failure) -> Answer) throws(Failure) -> Answer
  {
    guard !isOpen else { return try question() }
    let start = HostClock.micros().count
    since.store(start, ordering: .relaxed)
    defer {
      waited.wrappingAdd(HostClock.micros().count - start, ordering: .relaxed)
      since.store(0, ordering: .relaxed)
    }
    return try question()
  }
}
