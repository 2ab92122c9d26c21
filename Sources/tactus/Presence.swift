// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Glibc

/// Whether the program wants to be on the network: LinkKit's "active", beside the user's "enabled".
///
/// Nobody wants a silent program somewhere in the background to be a peer of everybody's session. So by choice Link
/// rests while nobody looks at the program and nothing could be heard of it; never while a port is connected, which is
/// what being in an Audiobus or IAA session is on iOS.
struct Presence {
  enum Life: String, CaseIterable, Typed {
    case always, auto
  }

  struct Signs: Equatable, Sendable {
    /// Somebody has it in sight: a terminal in whose foreground it runs, or a controller that is being told.
    var isForeground = false
    /// The transport rolls, or is about to.
    var isMoving = false
    /// Anybody may start us at any time.
    var syncsStartStop = false
    /// nil while there is no JACK server: then it stays as it was.
    var isConnected: Bool?

    var giveReason: Bool { isForeground || isMoving || syncsStartStop || isConnected == true }
  }

  /// To move a cable to another port one takes it out first, and no session should be left over that.
  static let patience = Micros(1_000_000)

  var life: Life
  private(set) var isActive: Bool
  private var idleSince: Micros?

  init(_ life: Life) {
    self.life = life
    isActive = life == .always
  }

  /// To be said when it has changed.
  var line: String {
    isActive
      ? "Ableton Link is back on the network"
      : "Ableton Link rests: tactus is in the background, nothing rolls and no port is connected"
  }

  /// Returns `isActive`. A reason counts at once, the lack of any when it has lasted.
  mutating func judge(_ signs: Signs, at now: Micros) -> Bool {
    if life == .always || signs.giveReason {
      idleSince = nil
      isActive = true
    } else if signs.isConnected == nil {
      idleSince = nil
    } else if let idleSince {
      if now - idleSince >= Self.patience { isActive = false }
    } else {
      idleSince = now
    }
    return isActive
  }
}

/// Whether the program runs in the foreground of a terminal that it was given.
///
/// Not with `&`, not after Ctrl-Z and `bg`, not as a service, and no more once the terminal is gone.
enum Foreground {
  static var isOurs: Bool {
    [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO].contains { isOurs($0) }
  }

  /// -1 for what is no terminal, or not that of our session.
  static func isOurs(_ descriptor: Int32) -> Bool { tcgetpgrp(descriptor) == getpgrp() }
}
