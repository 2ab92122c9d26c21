// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import Synchronization

/// The signals that ask the program to end, to stop for a while, to read its configuration again (SIGHUP to a
/// service), or to save (SIGUSR1, as LADISH's managers do). [control]
///
/// They are blocked before any other thread exists, so that every thread inherits the mask, no handler ever
/// runs, and no signal interrupts anything half-way. The main thread takes them one at a time. A thread of
/// its own takes those that ask for the end (`LastResort`): the main thread may hang in a JACK server that
/// does not answer, and a second request must always be obeyed.
struct Signals {
  private static let wakeUp = SIGUSR2
  /// Signals that came and that `isDue` has not returned yet.
  private static let asked = Mutex<Set<Int32>>([])
  private var set = sigset_t()

  /// Call it first of all: until the program has set up its signals, none of them may kill it by mistake. Nor
  /// may it be stopped for writing in the background (`stty tostop`): all of JACK would wait for it.
  static func hold() {
    var all = Self.set([SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGTSTP, SIGTTOU, SIGUSR1, wakeUp])
    pthread_sigmask(SIG_BLOCK, &all, nil)
  }

  /// For a subcommand that answers and ends. Signals do what they always do, except those for a tactus that
  /// plays: they may be sent to every process of that name, so they are ignored here.
  static func release() {
    _ = Glibc.signal(SIGUSR1, SIG_IGN)
    _ = Glibc.signal(SIGQUIT, SIG_DFL)
    if !hasTerminal { _ = Glibc.signal(SIGHUP, SIG_IGN) }
    var none = sigset_t()
    sigemptyset(&none)
    pthread_sigmask(SIG_SETMASK, &none, nil)
  }

  /// Calls `over`, which replaces this program by another one, with the default actions for signals.
  static func hand(over: () -> Void) {
    let before = [SIGUSR1, SIGHUP].map { ($0, Glibc.signal($0, SIG_DFL)) }
    over()
    for (signal, action) in before { _ = Glibc.signal(signal, action) }
  }

  /// Call it on the main thread, before there are others.
  ///
  /// - Parameter reloads: whether SIGHUP asks for the configuration and not for the end.
  init(reloads: Bool = false) {
    Self.hold()
    // Swift's own handler of SIGQUIT would stop all threads, print their stacks, and go on.
    var ends = [SIGINT, SIGTERM, SIGQUIT]
    var others = [SIGTSTP, SIGUSR1, Self.wakeUp]
    // nohup ignores SIGHUP; it stays ignored.
    if !Self.isIgnored(SIGHUP) {
      if reloads { others.append(SIGHUP) } else { ends.append(SIGHUP) }
    }
    // A shell starts background jobs with SIGINT ignored; an ignored signal would never be delivered.
    for signal in ends + others { _ = Glibc.signal(signal, SIG_DFL) }
    set = Self.set(others)
    // SIGCONT stays pending for the view, which draws everything again after a stop.
    var going = Self.set([SIGCONT])
    pthread_sigmask(SIG_BLOCK, &going, nil)
    // If the reader of our output has gone, the write fails and says so.
    _ = Glibc.signal(SIGPIPE, SIG_IGN)
    LastResort.watch(Self.set(ends))
  }

  private static func set(_ signals: [Int32]) -> sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for signal in signals { sigaddset(&set, signal) }
    return set
  }

  private static func isIgnored(_ signal: Int32) -> Bool {
    var found = sigaction()
    // SIG_IGN, which Swift does not know as a value that can be compared.
    return sigaction(signal, nil, &found) == 0
      && unsafeBitCast(found.__sigaction_handler.sa_handler, to: Int.self) == 1
  }

  /// Whether the program has a terminal. It then ends with the terminal (SIGHUP); without one it is a
  /// service.
  static var hasTerminal: Bool {
    let terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
    if terminal >= 0 { close(terminal) }
    return terminal >= 0
  }

  /// Waits for a signal for at most this time. Returns whether the end was asked for.
  func came(withinMilliseconds milliseconds: Int) -> Bool {
    if LastResort.isEndAsked { return true }
    var limit = timespec(tv_sec: milliseconds / 1000, tv_nsec: milliseconds % 1000 * 1_000_000)
    var set = set
    let signal = sigtimedwait(&set, nil, &limit)
    if signal > 0, signal != Self.wakeUp { Self.asked.withLock { _ = $0.insert(signal) } }
    return LastResort.isEndAsked
  }

  /// Whether the signal came since the last call: Ctrl-Z (SIGTSTP), a changed configuration (SIGHUP), or a
  /// request to save (SIGUSR1).
  static func isDue(_ signal: Int32) -> Bool { asked.withLock { $0.remove(signal) != nil } }

  /// Stops the program, as SIGTSTP does by default; returns when it goes on.
  static func stopHere() {
    var stop = set([SIGTSTP])
    raise(SIGTSTP)
    pthread_sigmask(SIG_UNBLOCK, &stop, nil)
    pthread_sigmask(SIG_BLOCK, &stop, nil)
  }

  /// Ends the control thread's wait: there is work. [any]
  static func wake() {
    kill(getpid(), wakeUp)
  }

  /// Asks for the end, as SIGTERM from outside does. [any]
  static func end() {
    kill(getpid(), SIGTERM)
  }
}
