// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import Synchronization

/// Records when a thread of another program was ready but had to wait for a processor, by the kernel's count.
/// If the program is late because of such a wait, the machine is to blame, and not the program.
public final class ProcessorWaits: Sendable {
  private struct Look {
    /// The times before and after the count was read, in microseconds of CLOCK_MONOTONIC_RAW.
    let began, ended: Double
    let waited: Double
  }

  private let looks = Mutex<[Look]>([])
  private let watch: Mutex<Task<Void, Never>?> = Mutex(nil)

  /// Returns nil if neither the program nor its children have a thread with this name.
  public init?(of process: pid_t, thread name: String) {
    guard let path = Self.thread(name, of: "\(process)").map({ $0 + "/schedstat" }) else { return nil }
    watch.withLock {
      $0 = Task.detached { [weak self] in
        while !Task.isCancelled {
          let began = Self.now()
          // The file has nanoseconds of work, nanoseconds of waiting, and a count.
          guard let waited = Self.text(path).split(separator: " ").dropFirst().first.flatMap({ Double($0) })
          else { return }
          self?.looks.withLock { $0.append(Look(began: began, ended: Self.now(), waited: waited / 1000)) }
          try? await Task.sleep(for: .milliseconds(5))
        }
      }
    }
  }

  deinit { watch.withLock { $0?.cancel() } }

  /// The microseconds of waiting between two times, as an upper limit: the counts were read a little outside
  /// these times. Returns nil if no counts were read around these times.
  public func waited(from begin: Double, to end: Double) -> Double? {
    looks.withLock { looks in
      guard let before = looks.last(where: { $0.ended <= begin }),
        let after = looks.first(where: { $0.began >= end })
      else {
        return nil
      }
      return after.waited - before.waited
    }
  }

  private static func thread(_ name: String, of process: String) -> String? {
    let threads = ScratchFolder.names(in: "/proc/\(process)/task").map { "/proc/\(process)/task/\($0)" }
    if let found = threads.first(where: { text($0 + "/comm") == name + "\n" }) { return found }
    let children = threads.flatMap { text($0 + "/children").split(separator: " ").map(String.init) }
    return children.lazy.compactMap { thread(name, of: $0) }.first
  }

  private static func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC_RAW, &time)
    return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1000
  }

  private static func text(_ path: String) -> String {
    guard let file = fopen(path, "r") else { return "" }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = fread(&bytes, 1, bytes.count, file)
    return String(decoding: bytes[..<count], as: UTF8.self)
  }
}
