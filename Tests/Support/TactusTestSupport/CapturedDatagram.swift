// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// A UDP datagram over IPv4, recorded from real peers.
public struct CapturedDatagram: Sendable {
  public struct Place: Hashable, Sendable {
    public let address: UInt32
    public let port: UInt16
  }

  /// When the datagram was recorded, in microseconds since 1970.
  public let time: Int64
  public let source: Place
  public let destination: Place
  public let bytes: [UInt8]

  /// The datagrams of a recording in Tests/Support/captures, in order. "linkhut" was recorded from LinkHut
  /// 3.0.6 and Ableton's library on loopback. The others were recorded from two peers of Ableton's library
  /// (4.0) with Link Audio. In one, two channels are subscribed, left, subscribed again, and change their
  /// tempo; in another, sixty channels come and go.
  public static func recorded(as name: String) -> [CapturedDatagram] {
    let path = Lab.top + "/Tests/Support/captures/\(name).pcap"
    return datagrams(in: contents(of: path))
  }

  /// The bytes of the file. Long files are stored compressed.
  private static func contents(of path: String) -> [UInt8] {
    let isPacked = access(path, R_OK) != 0
    guard let file = isPacked ? popen("xz -dc '\(path).xz'", "re") : fopen(path, "re") else { return [] }
    defer { _ = isPacked ? pclose(file) : fclose(file) }
    var contents = [UInt8](repeating: 0, count: 1 << 22)
    contents.removeSubrange(fread(&contents, 1, contents.count, file)...)
    return contents
  }

  /// Parses a little-endian file of libpcap: a header of 24 bytes, then for each packet its seconds, its
  /// microseconds and twice its length, then Ethernet, IPv4 and UDP. Packets of other protocols are skipped.
  private static func datagrams(in contents: [UInt8]) -> [CapturedDatagram] {
    func little(_ at: Int) -> Int { (0..<4).reduce(0) { $0 | Int(contents[at + $1]) << (8 * $1) } }
    func big(_ at: Int, _ count: Int) -> UInt32 {
      (0..<count).reduce(0) { $0 << 8 | UInt32(contents[at + $1]) }
    }
    func place(_ address: Int, _ port: Int) -> Place {
      Place(address: big(address, 4), port: UInt16(truncatingIfNeeded: big(port, 2)))
    }
    var found: [CapturedDatagram] = []
    var position = 24
    while position + 16 <= contents.count {
      let length = little(position + 8)
      let internet = position + 16 + 14
      let udp = internet + Int(contents[internet] & 15) * 4
      defer { position += 16 + length }
      guard contents[internet + 9] == UInt8(IPPROTO_UDP) else { continue }
      found.append(
        CapturedDatagram(
          time: Int64(little(position)) * 1_000_000 + Int64(little(position + 4)),
          source: place(internet + 12, udp), destination: place(internet + 16, udp + 2),
          bytes: Array(contents[(udp + 8)..<(position + 16 + length)])))
    }
    return found
  }
}
