// SPDX-License-Identifier: GPL-2.0-or-later

// LinkBeatMath is compiled without allocation, so the text of its types is here.

extension Micros: CustomStringConvertible {
  /// The microseconds with their unit, like "1500000 µs".
  public var description: String { "\(count) µs" }
}

extension SessionState: CustomStringConvertible {
  /// The values as text, like "120.0 BPM, playing, with peers".
  public var description: String {
    "\(tempo) BPM, \(isPlaying ? "playing" : "stopped"), \(isConnected ? "with" : "without") peers"
  }
}
