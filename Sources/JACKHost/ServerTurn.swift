// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// Of several tactus one at a time: jack2 is not made for two at once.
///
/// It keeps properties in a database without anybody who settles who waits for whom: two programs that remove theirs at one
/// moment can wait for each other for ever. And whoever closes a client reads no news any more from before jackd hears of
/// it: when 33 have come meanwhile, and a change of a property is one for everybody, jackd waits for ever to have the last
/// one read, and all its clients with it. Six that end together on a busy machine were enough.
struct ServerTurn {
  /// Whoever has it so long will not come out; nothing here is worth waiting for longer.
  private static let patience = 200
  /// Who shares the server shares this folder.
  private let folder: Int32

  /// Nil: it did not come.
  init?() {
    folder = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    for _ in 0..<Self.patience {
      if flock(folder, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK { return }
      usleep(10_000)
    }
    close(folder)
    return nil
  }

  func end() { close(folder) }
}
