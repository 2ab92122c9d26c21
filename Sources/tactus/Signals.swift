// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import Synchronization

/// The signals that ask the program for something: to end, to stop for a while, to read its configuration again (SIGHUP
/// to a service), to save (SIGUSR1, as LADISH's managers do). [control]
///
/// They are blocked before any other thread exists, so that every thread inherits it and no handler ever
/// runs: there is nothing that a signal could interrupt half-way. The main thread takes them one at a time, but for those
/// that ask for the end: a thread of their own takes these, because the main thread may hang in a JACK server that does
/// not answer, and a second request is always obeyed (`LastResort`).
struct Signals {
  private static let wakeUp = SIGUSR2
  /// What was asked for, and nobody has looked yet.
  private static let asked = Mutex<Set<Int32>>([])
  private var set = sigset_t()

  /// The first thing that the program does: until it knows what it is, nothing may kill it that is not meant to. Nor is it
  /// stopped for writing in the background (`stty tostop`): all of JACK would wait for it.
  static func hold() {
    var all = Self.set([SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGTSTP, SIGTTOU, SIGUSR1, wakeUp])
    pthread_sigmask(SIG_BLOCK, &all, nil)
  }

  /// For what answers and ends by itself: signals do what they always do, but for those that are meant for a tactus that
  /// plays, and reach everything that has its name.
  static func release() {
    _ = Glibc.signal(SIGUSR1, SIG_IGN)
    _ = Glibc.signal(SIGQUIT, SIG_DFL)
    if !hasTerminal { _ = Glibc.signal(SIGHUP, SIG_IGN) }
    var none = sigset_t()
    sigemptyset(&none)
    pthread_sigmask(SIG_SETMASK, &none, nil)
  }

  /// Another program takes our place: to it everything is as it was to us.
  static func hand(over: () -> Void) {
    let before = [SIGUSR1, SIGHUP].map { ($0, Glibc.signal($0, SIG_DFL)) }
    over()
    for (signal, action) in before { _ = Glibc.signal(signal, action) }
  }

  /// On the main thread, before there are others.
  ///
  /// - Parameter reloads: whether SIGHUP asks for the configuration and not for the end.
  init(reloads: Bool = false) {
    Self.hold()
    // By itself Swift would stop all threads at a SIGQUIT, write where they are, and go on.
    var ends = [SIGINT, SIGTERM, SIGQUIT]
    var others = [SIGTSTP, SIGUSR1, Self.wakeUp]
    // nohup: that terminals close is none of its business.
    if !Self.isIgnored(SIGHUP) {
      if reloads { others.append(SIGHUP) } else { ends.append(SIGHUP) }
    }
    // A shell starts background jobs with SIGINT ignored; an ignored signal would never be delivered.
    for signal in ends + others { _ = Glibc.signal(signal, SIG_DFL) }
    set = Self.set(others)
    // That it goes on after a stop waits for the view, which has to draw everything again.
    var going = Self.set([SIGCONT])
    pthread_sigmask(SIG_BLOCK, &going, nil)
    // The reader of our output may leave; the write then says so.
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

  /// Whether somebody could hang up: a program that has a terminal ends with it, one that has none is a service.
  static var hasTerminal: Bool {
    let terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
    if terminal >= 0 { close(terminal) }
    return terminal >= 0
  }

  /// Whether the end was asked for, now or within the time.
  func came(withinMilliseconds milliseconds: Int) -> Bool {
    if LastResort.isEndAsked { return true }
    var limit = timespec(tv_sec: milliseconds / 1000, tv_nsec: milliseconds % 1000 * 1_000_000)
    var set = set
    let signal = sigtimedwait(&set, nil, &limit)
    if signal > 0, signal != Self.wakeUp { Self.asked.withLock { _ = $0.insert(signal) } }
    return LastResort.isEndAsked
  }

  /// Whether Ctrl-Z (SIGTSTP) has come, or somebody has changed the configuration and says so (SIGHUP), or wants what is
  /// to be remembered written now (SIGUSR1); asked once.
  static func isDue(_ signal: Int32) -> Bool { asked.withLock { $0.remove(signal) != nil } }

  /// Stops the program as everybody stops who is told to; returns when it goes on.
  static func stopHere() {
    var stop = set([SIGTSTP])
    raise(SIGTSTP)
    pthread_sigmask(SIG_UNBLOCK, &stop, nil)
    pthread_sigmask(SIG_BLOCK, &stop, nil)
  }

  /// There is work: the control thread stops waiting. [any]
  static func wake() {
    kill(getpid(), wakeUp)
  }

  /// As if somebody had asked for it. [any]
  static func end() {
    kill(getpid(), SIGTERM)
  }
}
