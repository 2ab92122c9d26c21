// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport

/// Datagrams of real peers, in order.
enum Capture {
  static let datagrams = CapturedDatagram.recorded(as: "linkhut").map(\.bytes)
  static let audio = ["mono-resubscribed", "stereo-tempo", "sixty-channels"].map {
    CapturedDatagram.recorded(as: $0).map(\.bytes)
  }
}
