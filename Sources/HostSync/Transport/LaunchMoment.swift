// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices

extension LaunchMoment {
  func step(quantum: Beats) -> Beats {
    switch self {
    case .bar: quantum
    case .beat: Beats(micros: 1_000_000)
    case .now: .zero
    }
  }
}
