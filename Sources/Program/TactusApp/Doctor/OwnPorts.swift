// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// Finds the UDP ports of a program of this user in /proc. From one of these ports the program sends its
/// datagrams to Link's group.
enum OwnPorts {
  struct Socket: Equatable {
    var port: UInt16
    /// The inode by which /proc/PID/fd names the socket.
    var inode: String
  }

  private static let longest = 1 << 20

  /// All UDP ports of the program that has `port`; none if no program of this user has `port`.
  static func ofProgram(at port: Int) -> Set<UInt16> {
    let all = ["/proc/net/udp", "/proc/net/udp6"].flatMap {
      sockets((try? WholeFile.read($0, limit: longest)) ?? [])
    }
    let wanted = Set(all.filter { $0.port == port }.map(\.inode))
    guard !wanted.isEmpty else { return [] }
    for process in WholeFile.names(in: "/proc") where process.utf8.allSatisfy({ (0x30...0x39).contains($0) })
    {
      let own = inodes(of: process)
      if !own.isDisjoint(with: wanted) { return Set(all.filter { own.contains($0.inode) }.map(\.port)) }
    }
    return []
  }

  /// Parses lines such as
  /// `  12: 0100007F:5149 00000000:0000 07 00000000:00000000 00:00000000 00000000  1000        0 26482 2 ...`
  static func sockets(_ table: [UInt8]) -> [Socket] {
    String(decoding: table, as: UTF8.self).split(separator: "\n").compactMap { line in
      let fields = line.split(separator: " ")
      guard fields.count > 9,
        let port = fields[1].split(separator: ":").last.flatMap({ UInt16($0, radix: 16) })
      else { return nil }
      return Socket(port: port, inode: String(fields[9]))
    }
  }

  private static func inodes(of process: String) -> Set<String> {
    let folder = "/proc/\(process)/fd"
    var bytes = [UInt8](repeating: 0, count: 64)
    return Set(
      WholeFile.names(in: folder).compactMap { name in
        let count = readlink("\(folder)/\(name)", &bytes, bytes.count)
        let target = String(decoding: bytes[..<max(0, count)], as: UTF8.self)
        guard target.hasPrefix("socket:["), target.hasSuffix("]") else { return nil }
        return String(target.dropFirst(8).dropLast())
      })
  }
}
