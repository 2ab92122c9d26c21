// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc

/// A thread of our own. No signal is delivered to it: those are the program's business.
package struct Thread: Sendable {
  private let identifier: pthread_t

  package init(_ body: @escaping @Sendable () -> Void) throws(SystemFailure) {
    let context = Unmanaged.passRetained(Errand(body))
    var identifier = pthread_t()
    // A thread inherits the mask.
    var all = sigset_t(), before = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_SETMASK, &all, &before)
    let code = pthread_create(&identifier, nil, runThread, context.toOpaque())
    pthread_sigmask(SIG_SETMASK, &before, nil)
    guard code == 0 else {
      context.release()
      throw SystemFailure(call: "pthread_create", code: code)
    }
    self.identifier = identifier
  }

  /// Waits for its end, once; unless it is the thread that asks, which then ends on its own.
  package func join() {
    if pthread_equal(identifier, pthread_self()) != 0 { detach() } else { pthread_join(identifier, nil) }
  }

  /// Nobody will wait for it.
  package func detach() { pthread_detach(identifier) }
}

private final class Errand: Sendable {
  let run: @Sendable () -> Void

  init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

private func runThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  Unmanaged<Errand>.fromOpaque(context!).takeRetainedValue().run()
  return nil
}
