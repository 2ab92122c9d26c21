// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import Synchronization

/// The signals that ask the program to end, to stop for a while, to read its configuration again (SIGHUP sent
/// to a service), or to save (SIGUSR1, as LADISH's session managers send it). [control]
///
/// The signals are blocked before any other thread exists. Every thread inherits the mask, so no handler ever
/// runs, and no signal interrupts anything half-way. The main thread takes the signals one at a time. A
/// separate thread takes those that ask for the end (`LastResort`): the main thread may hang in a JACK server
/// that does not answer, and a second request to end must always be obeyed.
struct Signals {
  private static let wakeUp = SIGUSR2
  /// Signals that have arrived and that `isDue` has not returned yet.
  private static let asked = Mutex<Set<Int32>>([])
  private var set = sigset_t()

  /// Call this before anything else. Until the program has set up its signals, none of them may kill it by
  /// mistake, and a write in the background must not stop it (`stty tostop`): all JACK clients would wait for
  /// the stopped program.
  static func hold() {
    var all = Self.set([SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGTSTP, SIGTTOU, SIGUSR1, wakeUp])
    pthread_sigmask(SIG_BLOCK, &all, nil)
  }

  /// Call this in a subcommand that answers and ends. Signals have their usual effects, except those that are
  /// meant for a tactus that plays: a user may send these to every process of that name, so a subcommand
  /// ignores them.
  static func release() {
    _ = Glibc.signal(SIGUSR1, SIG_IGN)
    _ = Glibc.signal(SIGQUIT, SIG_DFL)
    if !hasTerminal { _ = Glibc.signal(SIGHUP, SIG_IGN) }
    var none = sigset_t()
    sigemptyset(&none)
    pthread_sigmask(SIG_SETMASK, &none, nil)
  }

  /// Calls `over`, which replaces this program by another one. The new program starts with the default
  /// actions for signals.
  static func hand(over: () -> Void) {
    let before = [SIGUSR1, SIGHUP].map { ($0, Glibc.signal($0, SIG_DFL)) }
    over()
    for (signal, action) in before { _ = Glibc.signal(signal, action) }
  }

  /// Call this on the main thread, before there are other threads.
  ///
  /// - Parameter reloads: whether SIGHUP asks to read the configuration again instead of asking for the end.
  init(reloads: Bool = false) {
    Self.hold()
    // Without this, Swift's own handler of SIGQUIT would stop all threads, print their stacks, and continue.
    var ends = [SIGINT, SIGTERM, SIGQUIT]
    var others = [SIGTSTP, SIGUSR1, Self.wakeUp]
    // nohup makes a program ignore SIGHUP; keep ignoring it.
    if !Self.isIgnored(SIGHUP) {
      if reloads { others.append(SIGHUP) } else { ends.append(SIGHUP) }
    }
    // A shell starts background jobs with SIGINT ignored. Undo that: the kernel never delivers an ignored
    // signal.
    for signal in ends + others { _ = Glibc.signal(signal, SIG_DFL) }
    set = Self.set(others)
    // Let SIGCONT stay pending for the view, which draws everything again after a stop.
    var going = Self.set([SIGCONT])
    pthread_sigmask(SIG_BLOCK, &going, nil)
    // Ignore SIGPIPE: if the reader of our output has gone, the write fails and reports that.
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
    // Compare with SIG_IGN, which Swift does not import as a comparable value.
    return sigaction(signal, nil, &found) == 0
      && unsafeBitCast(found.__sigaction_handler.sa_handler, to: Int.self) == 1
  }

  /// Whether the program has a terminal. With a terminal, the program ends when the terminal closes (SIGHUP).
  /// Without one, it is a service.
  static var hasTerminal: Bool {
    let terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
    if terminal >= 0 { close(terminal) }
    return terminal >= 0
  }

  /// Waits for a signal for at most this time. Returns whether the program was asked to end.
  func came(withinMilliseconds milliseconds: Int) -> Bool {
    if LastResort.isEndAsked { return true }
    var limit = timespec(tv_sec: milliseconds / 1000, tv_nsec: milliseconds % 1000 * 1_000_000)
    var set = set
    let signal = sigtimedwait(&set, nil, &limit)
    if signal > 0, signal != Self.wakeUp { Self.asked.withLock { _ = $0.insert(signal) } }
    return LastResort.isEndAsked
  }

  /// Whether the signal arrived since the last call: Ctrl-Z (SIGTSTP), a changed configuration (SIGHUP), or a
  /// request to save (SIGUSR1).
  static func isDue(_ signal: Int32) -> Bool { asked.withLock { $0.remove(signal) != nil } }

  /// Stops the program, as SIGTSTP does by default. Returns when the program continues.
  static func stopHere() {
    var stop = set([SIGTSTP])
    raise(SIGTSTP)
    pthread_sigmask(SIG_UNBLOCK, &stop, nil)
    pthread_sigmask(SIG_BLOCK, &stop, nil)
  }

  /// Ends the control thread's wait because there is work. [any]
  static func wake() {
    kill(getpid(), wakeUp)
  }

  /// Asks the program to end, as SIGTERM from outside does. [any]
  static func end() {
    kill(getpid(), SIGTERM)
  }
}
