// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import Synchronization

// Two threads that share a list under a Mutex. With an argument, they also share a number without a Mutex,
// which is a race.
final class Shared: Sendable {
  let list = Mutex([0])
}

let shared = Shared()
nonisolated(unsafe) let unguarded = UnsafeMutablePointer<Int>.allocate(capacity: 1)
unguarded.initialize(to: 0)
nonisolated(unsafe) let isCareless = CommandLine.argc > 1

func work(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  for turn in 0..<200_000 {
    if isCareless { unguarded.pointee += 1 }
    shared.list.withLock { $0 = [turn] }
  }
  return nil
}

var threads = (pthread_t(), pthread_t())
pthread_create(&threads.0, nil, work, nil)
pthread_create(&threads.1, nil, work, nil)
pthread_join(threads.0, nil)
pthread_join(threads.1, nil)
