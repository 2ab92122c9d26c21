// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

@testable import TactusApp

/// The socket at which a service manager receives reports.
private struct ServiceSocket: ~Copyable {
  let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)

  /// With `@` in front, `path` is a name in the abstract namespace.
  init(at path: String) {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    withUnsafeMutableBytes(of: &address.sun_path) { place in
      place.copyBytes(from: bytes)
      if path.hasPrefix("@") { place[0] = 0 }
    }
    var limit = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    let length = socklen_t(2 + bytes.count)
    withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = bind(descriptor, $0, length) }
    }
  }

  deinit { close(descriptor) }

  func receive() -> String {
    var bytes = [UInt8](repeating: 0, count: 4096)
    return String(decoding: bytes[..<max(0, recv(descriptor, &bytes, bytes.count, 0))], as: UTF8.self)
  }
}

@Test(arguments: ["", "@"])
func `systemd gets one READY, each new status, and the report of the end`(kind: String) {
  let path = kind + "/tmp/tactus-notify-\(getpid())-\(kind.count)"
  defer { unlink(path) }
  let manager = ServiceSocket(at: path)
  let report = ServiceReport(socket: path)
  report.ready("waiting for a JACK server")
  report.ready("No Links\nREADY=0")
  report.show("No Links")
  report.show("No Links")
  report.show("1 Link")
  report.stopping()
  #expect(manager.receive() == "READY=1\nSTATUS=waiting for a JACK server")
  #expect(manager.receive() == "STATUS=No Links READY=0")
  #expect(manager.receive() == "STATUS=No Links")
  #expect(manager.receive() == "STATUS=1 Link")
  #expect(manager.receive() == "STOPPING=1\nSTATUS=leaving")
}

@Test(arguments: [nil, "", "relative", "/nowhere/at/all", "/" + String(repeating: "x", count: 200)])
func `without a usable NOTIFY_SOCKET, service reports do nothing`(path: String?) {
  let report = ServiceReport(socket: path)
  report.ready("here")
  report.show("still here")
  report.stopping()
}

@Test
func `a service is ready when it waits for JACK, and reports its end`()
  async throws
{
  let path = "/tmp/tactus-notify-program-\(getpid())"
  unlink(path)
  defer { unlink(path) }
  let manager = ServiceSocket(at: path)
  let stage = try await LabStage("--no-server")
  let command = ["env", "NOTIFY_SOCKET=\(path)", program, "--wait", "--server=stage", "--no-osc"]
  let child = try ChildProcess(stage.command(command))
  #expect(manager.receive() == "READY=1\nSTATUS=waiting for a JACK server")
  let server = try ChildProcess(stage.command(["jackd", "--no-realtime", "-n", "stage", "-d", "dummy"]))
  #expect(manager.receive().hasPrefix("STATUS=No Links, "))
  child.signal(SIGTERM)
  var last = manager.receive()
  while last.hasPrefix("STATUS=") { last = manager.receive() }
  #expect(last == "STOPPING=1\nSTATUS=leaving")
  #expect(await child.status() == 0)
  server.signal(SIGTERM)
}
