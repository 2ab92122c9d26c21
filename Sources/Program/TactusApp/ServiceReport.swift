// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusJACK
import TactusSurface

/// Reports to systemd for a service of `Type=notify`. Each report is one datagram to the socket that
/// `NOTIFY_SOCKET` names. If there is no such socket, no report is sent. [control]
final class ServiceReport {
  private var address = sockaddr_un()
  private var length: socklen_t = 0
  private var descriptor: Int32 = -1
  private var status = ""
  private var isReady = false

  /// The report to the service manager that started tactus. Without a service manager, it sends nothing.
  static func ofEnvironment() -> ServiceReport {
    ServiceReport(socket: Environment.text("NOTIFY_SOCKET"))
  }

  /// `socket` is a path, or a name in Linux' abstract namespace with `@` in front.
  init(socket path: String?) {
    guard let path, path.hasPrefix("/") || path.hasPrefix("@") else { return }
    let bytes = Array(path.utf8)
    let offset = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
    guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { place in
      place.copyBytes(from: bytes)
      if bytes[0] == UInt8(ascii: "@") { place[0] = 0 }
    }
    length = socklen_t(offset + bytes.count)
    descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// Reports that tactus is on a server, or waits for one because of `--wait`: services that depend on tactus
  /// may start.
  func ready(_ status: String) {
    let start = isReady ? "" : "READY=1\n"
    isReady = true
    tell(start, status)
  }

  /// The line that `systemctl status` shows.
  func show(_ status: @autoclosure () -> String) {
    guard descriptor >= 0 else { return }
    let status = status()
    if status != self.status { tell("", status) }
  }

  func stopping() {
    tell("STOPPING=1\n", "leaving")
  }

  private func tell(_ state: String, _ status: String) {
    self.status = status
    guard descriptor >= 0 else { return }
    let line = status.split(whereSeparator: \.isNewline).joined(separator: " ")
    let text = Array((state + "STATUS=" + line).utf8)
    withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        _ = sendto(
          descriptor, text, text.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL), address, length)
      }
    }
  }
}

extension SurfaceState {
  /// A status such as "1 Link, rolling on 48000 Hz, 256 frames". It has no value that changes all the time.
  func serviceStatus(on server: ServerDescription?, peers: Int) -> String {
    guard let server else { return "\(links(peers)), waiting for the JACK server to return" }
    return "\(links(peers)), \(status) on \(server.sampleRate) Hz, \(server.framesPerPeriod) frames"
  }
}
