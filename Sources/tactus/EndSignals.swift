// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import Synchronization

/// The signals that ask the program for something, taken one at a time by the main thread: to end, to stop for a while,
/// to read its configuration again (SIGHUP to a service), to save (SIGUSR1, as LADISH's managers do). [control]
///
/// They are blocked before any other thread exists, so that every thread inherits it and no handler ever
/// runs: there is nothing that a signal could interrupt half-way.
struct EndSignals {
  private static let wakeUp = SIGUSR2
  private static let stop = Atomic(false)
  private static let reload = Atomic(false)
  private static let save = Atomic(false)
  private let reloads: Bool
  private var set = sigset_t()

  /// Call first, on the main thread.
  ///
  /// - Parameter reloads: whether SIGHUP asks for the configuration and not for the end.
  init(reloads: Bool = false) {
    self.reloads = reloads
    sigemptyset(&set)
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGUSR1, Self.wakeUp] {
      // nohup: that terminals close is none of its business.
      if signal == SIGHUP, Self.isIgnored(SIGHUP) { continue }
      sigaddset(&set, signal)
      // A shell starts background jobs with SIGINT ignored; an ignored signal would never be delivered.
      _ = Glibc.signal(signal, SIG_DFL)
    }
    pthread_sigmask(SIG_BLOCK, &set, nil)
    // That it goes on after a stop waits for the view, which has to draw everything anew.
    var others = sigset_t()
    sigemptyset(&others)
    sigaddset(&others, SIGCONT)
    pthread_sigmask(SIG_BLOCK, &others, nil)
    // Whoever read our output may leave; the write then says so.
    _ = Glibc.signal(SIGPIPE, SIG_IGN)
  }

  private static func isIgnored(_ signal: Int32) -> Bool {
    var found = sigaction()
    // SIG_IGN, which Swift does not know as a value that can be compared.
    return sigaction(signal, nil, &found) == 0
      && unsafeBitCast(found.__sigaction_handler.sa_handler, to: Int.self) == 1
  }

  /// Whether somebody could hang up: a program that has a terminal ends with it, one that has none is a service.
  static var hasTerminal: Bool {
    let terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
    if terminal >= 0 { close(terminal) }
    return terminal >= 0
  }

  /// Whether one came within the time that asks for the end.
  func came(withinMilliseconds milliseconds: Int) -> Bool {
    var limit = timespec(tv_sec: milliseconds / 1000, tv_nsec: milliseconds % 1000 * 1_000_000)
    var set = set
    let signal = sigtimedwait(&set, nil, &limit)
    return signal > 0 && asksForTheEnd(signal)
  }

  private func asksForTheEnd(_ taken: Int32) -> Bool {
    switch taken {
    case Self.wakeUp: return false
    case SIGTSTP: Self.stop.store(true, ordering: .relaxed)
    case SIGUSR1: Self.save.store(true, ordering: .relaxed)
    case SIGHUP where reloads: Self.reload.store(true, ordering: .relaxed)
    default: return true
    }
    return false
  }

  /// Whether Ctrl-Z has come; asked once.
  static func isStopDue() -> Bool { stop.exchange(false, ordering: .relaxed) }

  /// Whether somebody has changed the configuration and says so; asked once.
  static func isReloadDue() -> Bool { reload.exchange(false, ordering: .relaxed) }

  /// Whether what is to be remembered must be written now; asked once.
  static func isSaveDue() -> Bool { save.exchange(false, ordering: .relaxed) }

  /// Stops the program as everybody stops who is told to; returns when it goes on.
  static func stopHere() {
    var stop = sigset_t()
    sigemptyset(&stop)
    sigaddset(&stop, SIGTSTP)
    raise(SIGTSTP)
    pthread_sigmask(SIG_UNBLOCK, &stop, nil)
    pthread_sigmask(SIG_BLOCK, &stop, nil)
  }

  /// There is work: whoever waits stops waiting. [any]
  static func wake() {
    kill(getpid(), wakeUp)
  }

  /// As if one had come. [any]
  static func end() {
    kill(getpid(), SIGTERM)
  }

  /// Sleeps until one comes.
  func wait() {
    var set = set
    var signal: Int32 = 0
    while sigwait(&set, &signal) != 0 || !asksForTheEnd(signal) {}
  }
}
