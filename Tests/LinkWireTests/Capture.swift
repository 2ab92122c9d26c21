// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// Real packets between LinkHut 3.0.6 and the reference library, recorded on loopback: the UDP payloads of
/// `captured.pcap` in their order.
enum Capture {
  static let datagrams = payloads(of: "captured.pcap")
  /// Link Audio between two peers of the reference library (4.0) on loopback, thinned out: two channels of sound that are taken, left
  /// and taken again, or change their tempo, and sixty channels that come and go.
  static let audio = ["mono-resubscribed", "stereo-tempo", "sixty-channels"].map {
    payloads(of: "audio/\($0).pcap")
  }

  private static func payloads(of name: String) -> [[UInt8]] {
    guard let file = fopen(#filePath.replacing("Capture.swift", with: name), "rb") else { return [] }
    defer { fclose(file) }
    var contents = [UInt8](repeating: 0, count: 1 << 22)
    contents.removeSubrange(fread(&contents, 1, contents.count, file)...)
    return payloads(in: contents)
  }

  /// libpcap, little-endian: a header of 24 bytes, then per packet 16 bytes with its length at 8.
  private static func payloads(in contents: [UInt8]) -> [[UInt8]] {
    var payloads: [[UInt8]] = []
    var position = 24
    while position + 16 <= contents.count {
      let length = (0..<4).reduce(0) { $0 | Int(contents[position + 8 + $1]) << (8 * $1) }
      let frame = contents[(position + 16)..<(position + 16 + length)]
      let ethernet = 14
      let internet = Int(frame[frame.startIndex + ethernet] & 15) * 4
      payloads.append(Array(frame.dropFirst(ethernet + internet + 8)))
      position += 16 + length
    }
    return payloads
  }
}
