// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport
import Testing

/// Tests the virtual wire between hosts: it is as bad as requested, and reproducible.
@Suite(.serialized) struct WireTests {
  /// Sends numbered datagrams from host 1 to host 2, and returns the numbers in their order of arrival.
  private func arrivals(of count: Int, on stage: LabStage) async throws -> [Int] {
    let receiver = try ChildProcess(
      stage.command(
        on: 2,
        [
          "/usr/bin/python3", "-c",
          """
          import socket
          s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("10.77.0.2", 9000)); print("ready", flush=True)
          while (text := s.recv(99).decode()) != "end": print(text)
          """,
        ]))
    #expect(try await receiver.line() == "ready")
    let sender = """
      import socket, time
      s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(("10.77.0.2", 9000))
      for n in range(\(count)): s.send(str(n).encode()); time.sleep(0.0002)
      """
    #expect(try await stage.run("/usr/bin/python3", "-c", sender).status == 0)
    // Make the wire perfect for the end mark, which follows all datagrams that are still in flight.
    try await stage.wire("clear")
    let end = "import socket, time; time.sleep(0.1); s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)"
    #expect(
      try await stage.run("/usr/bin/python3", "-c", end + "; s.sendto(b'end', ('10.77.0.2', 9000))").status
        == 0)
    var numbers: [Int] = []
    while let line = try await receiver.line() { numbers.append(Int(line) ?? -1) }
    return numbers
  }

  @Test func `the virtual wire's losses and duplicates depend on its seed alone`() async throws {
    let stage = try await LabStage("--hosts", "2", "--no-server")
    let setting = ["loss=20%", "duplicate=10%"]
    try await stage.wire("seed=7", setting[0], setting[1])
    let first = try await arrivals(of: 400, on: stage)
    try await stage.wire("seed=7", setting[0], setting[1])
    let again = try await arrivals(of: 400, on: stage)
    try await stage.wire("seed=8", setting[0], setting[1])
    let other = try await arrivals(of: 400, on: stage)
    #expect(first == again)
    #expect(first != other)
    for run in [first, other] {
      #expect((260...370).contains(Set(run).count))  // 320 expected
      #expect((5...80).contains(run.count - Set(run).count))  // 32 expected
    }
  }

  @Test func `a wire that reorders datagrams loses and doubles none`() async throws {
    let stage = try await LabStage("--hosts", "2", "--no-server")
    #expect(try await arrivals(of: 200, on: stage) == Array(0..<200))
    try await stage.wire("reorder=10%")
    let mixed = try await arrivals(of: 200, on: stage)
    #expect(mixed != Array(0..<200))
    #expect(mixed.sorted() == Array(0..<200))
  }

  @Test func `the wire's settings can be for one direction; a wrong one is refused`() async throws {
    let stage = try await LabStage("--hosts", "3", "--no-server", "--wire", "delay=1ms")
    try await stage.wire("from=1", "to=2", "loss=50%")
    await #expect(throws: (any Error).self) { try await stage.wire("delay=7ms", "loss=150%") }
    await #expect(throws: (any Error).self) { try await stage.wire("lose=1%") }
    let state = try await stage.wire()
    #expect(state.split(separator: "\n").count { $0.contains("\"loss\":0.5") } == 1)
    #expect(state.split(separator: "\n").count { $0.contains("\"delay_us\":1000,") } == 6)
  }

  @Test func `a host's network interface can be added and removed while a lab runs`() async throws {
    let stage = try await LabStage("--hosts", "2", "--no-server")
    for host in ["1", "2"] { #expect(try await stage.run(Lab.tool, "plug", host, "wire1").status == 0) }
    #expect(try await stage.run(on: 2, "ip", "-br", "addr", "show", "wire1").output.contains("10.77.1.2/24"))
    #expect(try await stage.run(on: 2, "ip", "-br", "addr", "show", "wire1").output.contains("fe80::"))
    let echo = """
      import socket, sys
      s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("10.77.1.2", 9)); print("ready", flush=True)
      data, sender = s.recvfrom(9); s.sendto(data, sender)
      """
    let server = try ChildProcess(stage.command(on: 2, ["/usr/bin/python3", "-c", echo]))
    #expect(try await server.line() == "ready")
    let client = """
      import socket
      s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("10.77.1.1", 0)); s.settimeout(5)
      s.sendto(b"hello", ("10.77.1.2", 9)); print(s.recv(9).decode())
      """
    #expect(try await stage.run("/usr/bin/python3", "-c", client).output == "hello\n")
    #expect(try await stage.run(Lab.tool, "unplug", "2", "wire1").status == 0)
    #expect(try await stage.run(on: 2, "ip", "link", "show", "wire1").status != 0)
  }
}
