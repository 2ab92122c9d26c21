// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkBeatMath

/// Whether the program wants to be on the network. LinkKit calls this "active"; its "enabled" is the user's
/// wish.
///
/// A silent program in the background should not be a peer of every session on the network. With
/// `--life=auto`, Link therefore leaves the network while tactus is in the background and nothing of it could
/// be heard. Link stays while a port is connected, as an iOS app does during an Audiobus or IAA session.
struct Presence {
  enum Life: String, CaseIterable, OptionValueType {
    case always, auto
  }

  struct ActivitySignals: Equatable, Sendable {
    /// Whether tactus runs in the foreground of a terminal, or a controller subscribes to it.
    var isForeground = false
    /// Whether the transport rolls or is about to roll.
    var isMoving = false
    /// Whether start/stop sync is on. If it is, any peer may start the transport at any time, so
    /// Link stays on the network.
    var syncsStartStop = false
    /// Whether a port is connected; nil: there is no JACK server, so the presence stays as it was.
    var isConnected: Bool?

    var giveReason: Bool { isForeground || isMoving || syncsStartStop || isConnected == true }
  }

  /// The time without a cable after which Link may leave the network. A user who moves a cable
  /// unplugs it for a moment.
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

  /// Updates and returns `isActive`. If there is a reason to be on the network, this acts at once; if all
  /// reasons are gone, after `recablingTime`.
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

/// Whether the program runs in the foreground of its terminal.
///
/// False after a start with `&`, after Ctrl-Z and `bg`, as a service, and once the terminal is gone.
enum Foreground {
  static var isOurs: Bool {
    [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO].contains { isOurs($0) }
  }

  /// tcgetpgrp returns -1 if `descriptor` is no terminal, or not the terminal of our process session.
  static func isOurs(_ descriptor: Int32) -> Bool { tcgetpgrp(descriptor) == getpgrp() }
}
