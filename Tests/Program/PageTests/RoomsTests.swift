// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

/// The page's view of another room (a network joined over a distance).
@Suite struct RoomsTests {
  @Test
  func `the page shows another room with its delay, and can set the distance`() async throws {
    let folder = try ScratchFolder()
    let key = try folder.write("2345-6789-abcd-efgh-jkmn-pqrs\n".utf8, to: "key")
    chmod(key, 0o600)
    let visit = try await Visit("--link-accept", "--link-key=\(key)", isFar: true)
    try await visit.stage.wire("delay=15ms")
    try await visit.arrive()
    try await visit.show("link")
    let row = { (path: String) in
      "document.querySelector('#link [data-address=\\\"\(path)\\\"]')?.textContent"
    }
    try await visit.until("\(row("far/str"))?.includes('none')")
    let other = try ChildProcess(
      visit.stage.command(
        on: 2, [Visit.program, "--no-tui", "--link-to=10.77.0.1", "--link-key=\(key)"]))
    try await visit.until("/10.77.0.2:[0-9]+ in 3[0-9.]+ ms \\\\(±1[0-9.]+ ms\\\\)/.test(\(row("far/str")))")
    try await visit.until("/3[0-9.]+ ms/.test(\(row("far/roundtrip")))")
    try await visit.until("/1[0-9.]+ ms/.test(\(row("far/bound")))")
    // Another room's sound arrives late, but its beat is in time.
    try await visit.until(
      "\(row("far"))?.includes('Their beat is in time; their sound arrives later')")
    try await visit.touch("fill \"#link [data-address='link/distance'] input\" 1bar")
    try await visit.until("link/distance", is: "1bar")
    try await visit.until("\(row("far/str"))?.includes('4 beats later')")
    other.signal(SIGTERM)
    #expect(await other.status() == 0)
    try await visit.until("\(row("far/str"))?.includes('none')")
    try await visit.end()
  }
}
