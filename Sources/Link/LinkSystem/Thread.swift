// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc

/// A thread that blocks all signals but those of its own faults, which end the program as usual.
package struct Thread: Sendable {
  private static let mistakes = [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS]
  private let identifier: pthread_t

  /// Starts a thread that runs `body`. If the system refuses the thread, `body` is not called.
  ///
  /// - Parameter name: shown by `top -H` and debuggers, up to 15 letters.
  package init(_ name: String, _ body: sending @escaping () -> Void) throws(SystemFailure) {
    var identifier = pthread_t()
    let context = Unmanaged.passRetained(Body(name, body))
    // The new thread inherits this signal mask; afterwards the calling thread gets its own mask back.
    var others = sigset_t()
    var before = sigset_t()
    sigfillset(&others)
    for signal in Self.mistakes { sigdelset(&others, signal) }
    pthread_sigmask(SIG_SETMASK, &others, &before)
    let code = pthread_create(&identifier, nil, run, context.toOpaque())
    pthread_sigmask(SIG_SETMASK, &before, nil)
    guard code == 0 else {
      context.release()
      throw SystemFailure(call: "pthread_create", code: code)
    }
    self.identifier = identifier
  }

  /// Waits for the thread's end. If the thread itself calls this function, it only detaches itself. Call
  /// either `join` or `detach`, and only once.
  package func join() {
    if pthread_equal(identifier, pthread_self()) != 0 { detach() } else { pthread_join(identifier, nil) }
  }

  package func detach() { pthread_detach(identifier) }
}

private final class Body {
  private let name: String
  private let body: () -> Void

  init(_ name: String, _ body: @escaping () -> Void) {
    self.name = name
    self.body = body
  }

  func run() {
    let file = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
    write(file, name, name.utf8.count)
    close(file)
    body()
  }
}

private func run(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  Unmanaged<Body>.fromOpaque(context!).takeRetainedValue().run()
  return nil
}
