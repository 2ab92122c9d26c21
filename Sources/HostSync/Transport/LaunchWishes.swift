// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices

/// What the user wants of a launch.
extension Now {
  /// The grid that it starts on; zero: none.
  var launchStep: Beats {
    switch settings.launch.moment {
    case .bar: Beats(settings.quantum)
    case .beat: Beats(micros: 1_000_000)
    case .now: .zero
    }
  }

  var launchesExactly: Bool { if case .exact = settings.launch.alignment { true } else { false } }

  var longestWait: Double {
    Double(min(settings.launch.longestWait.count, LaunchSettings.longestWaitAllowed.count))
  }

  /// A start that a peer asked for does not happen before this moment.
  var notBefore: Double? { session.isPlaying ? Double(session.timeOfPlaying.count) : nil }
}
