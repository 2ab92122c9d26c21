// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Glibc

/// Whether the program wants to be on the network: LinkKit's "active", beside the user's "enabled".
///
/// A silent program in the background should not be a peer of every session on the network. With
/// `--life=auto`, Link therefore rests while tactus is in the background and nothing could be heard of it.
/// Link never rests while a port is connected, which matches an Audiobus or IAA session on iOS.
struct Presence {
  enum Life: String, CaseIterable, OptionValueType {
    case always, auto
  }

  struct ActivitySignals: Equatable, Sendable {
    /// tactus runs in the foreground of a terminal, or a controller subscribes to it.
    var isForeground = false
    /// The transport rolls, or is about to.
    var isMoving = false
    /// Any peer may start the transport at any time.
    var syncsStartStop = false
    /// nil: there is no JACK server, and the presence stays as it was.
    var isConnected: Bool?

    var giveReason: Bool { isForeground || isMoving || syncsStartStop || isConnected == true }
  }

  /// A user who moves a cable unplugs it first; the session must not be left because of that.
  static let recablingTime = Micros(1_000_000)

  var life: Life
  private(set) var isActive: Bool
  private var idleSince: Micros?

  init(_ life: Life) {
    self.life = life
    isActive = life == .always
  }

  /// The line to print when `isActive` has changed.
  var line: String {
    isActive
      ? "Ableton Link is back on the network"
      : "Ableton Link rests: tactus is in the background, nothing rolls and no port is connected"
  }

  /// Returns `isActive`. A reason counts at once, the lack of all reasons only after `recablingTime`.
  mutating func judge(_ signs: ActivitySignals, at now: Micros) -> Bool {
    if life == .always || signs.giveReason {
      idleSince = nil
      isActive = true
    } else if signs.isConnected == nil {
      idleSince = nil
    } else if let idleSince {
      if now - idleSince >= Self.recablingTime { isActive = false }
    } else {
      idleSince = now
    }
    return isActive
  }
}

/// Whether the program runs in the foreground of a terminal that it was given.
///
/// False after a start with `&`, after Ctrl-Z and `bg`, as a service, and once the terminal is gone.
enum Foreground {
  static var isOurs: Bool {
    [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO].contains { isOurs($0) }
  }

  /// tcgetpgrp returns -1 if this is no terminal, or not the terminal of our session.
  static func isOurs(_ descriptor: Int32) -> Bool { tcgetpgrp(descriptor) == getpgrp() }
}
