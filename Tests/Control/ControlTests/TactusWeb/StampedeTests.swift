// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkAddresses
import Synchronization
import TactusOSC
import TactusSurface
import TactusTestSupport
import Testing

@testable import TactusWeb

/// Floods of TCP connections that could keep other clients out.
@Suite("Crowded listeners", .enabled(if: Lab.isHere, "needs tools/lab --no-server"))
struct StampedeTests {
  @Test
  func `a machine that floods the server with connections locks out no phone`() throws {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = min(limit.rlim_max, 8192)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    let (answered, overdrawn) = try Neighbours.visit { studio in
      Stampede.run(from: Neighbours.theirs[1], studio.port) {
        // The limit is long enough for a slow test machine. It is too short if each request of the phone
        // has to wait behind the whole crowd.
        let end = ContinuousClock.now + .seconds(60)
        var answered = 0
        while answered < 30, ContinuousClock.now < end {
          let phone = try? Caller(studio.port, from: Neighbours.theirs[2], to: Neighbours.tactus, seconds: 4)
          if (try? phone?.ask("/session", host: "10.50.0.1").status) == 200 { answered += 1 }
        }
        return (answered, studio.web.counters.overdrawn)
      }
    }
    #expect(answered == 30)
    // On a busy machine, the flood may open too few connections to cost more than its share.
    if overdrawn == 0 { notJudged("a flood of connections: this machine was too busy to make one") }
  }

  @Test
  func `a page at an address of one network is not served to other networks`() throws {
    let (home, stage, venue) = (try PrivateNetwork(), try PrivateNetwork(), try PrivateNetwork())
    try home.cable("stage0", to: stage, "stage1")
    try home.cable("wifi0", to: venue, "venue0")
    try home.ip("addr add 192.168.7.2/24 dev stage0")
    try home.ip("addr add 10.50.0.1/24 dev wifi0")
    for cable in ["stage0", "wifi0"] { try home.ip("link set \(cable) up") }
    try stage.ip("addr add 192.168.7.20/24 dev stage1")
    try venue.ip("addr add 10.50.0.66/24 dev venue0")
    try stage.ip("link set stage1 up")
    try venue.ip("link set venue0 up")
    try venue.ip("route add 192.168.7.2/32 via 10.50.0.1 dev venue0")
    let ownAddress = Address.v4(0xc0a8_0702)
    var settings = WebSettings.page
    settings.listen = [Endpoint(ownAddress, port: 0)]
    let studio = try home.perform { [settings] in try PageStudio(settings) }
    defer { studio.close() }
    let port = try #require(studio.web.endpoints.first).port
    let host = "192.168.7.2:\(port)"
    try venue.perform {
      let caller = try Caller(port, from: .v4(0x0a32_0042), to: ownAddress)
      #expect((try? caller.ask("/session", host: host)) == nil)
    }
    // Wait, because the web thread updates its counters a little later.
    let end = ContinuousClock.now + .seconds(10)
    while studio.web.counters.strangers == 0, ContinuousClock.now < end { usleep(1_000) }
    #expect(studio.web.counters.strangers == 1)
    try stage.perform {
      let caller = try Caller(port, from: .v4(0xc0a8_0714), to: ownAddress)
      #expect(try caller.ask("/session", host: host).status == 200)
    }
    try home.perform {
      let caller = try Caller(port, from: ownAddress, to: ownAddress)
      #expect(try caller.ask("/session", host: host).status == 200)
    }
  }
}

/// Keeps six hundred connections open from one address. Each sends a request that the server refuses; the
/// client then opens the connection anew at once.
private final class Stampede: Sendable {
  private static let width = 600
  private static let words = Array("GET / HTTP/1.1\r\nHost: x\r\n\r\n".utf8)
  private let isOver = Atomic(false)

  /// Runs the flood of connections during `body`.
  static func run<Result>(
    from own: Address, _ port: UInt16, _ body: () throws -> Result
  ) rethrows -> Result {
    let stampede = Stampede()
    let worker = Worker { stampede.openConnections(from: own, port) }
    defer {
      stampede.isOver.store(true, ordering: .relaxed)
      worker.join()
    }
    return try body()
  }

  private func openConnections(from own: Address, _ port: UInt16) {
    var watched = (0..<Self.width).map { _ in Self.open(own, port) }
    while !isOver.load(ordering: .relaxed) {
      poll(&watched, nfds_t(watched.count), 10)
      for index in watched.indices where watched[index].revents != 0 || watched[index].fd < 0 {
        let descriptor = watched[index].fd
        if watched[index].revents == Int16(POLLOUT) {
          send(descriptor, Self.words, Self.words.count, Int32(MSG_NOSIGNAL))
          watched[index].events = Int16(POLLIN)
        } else {
          close(descriptor)
          watched[index] = Self.open(own, port)
        }
      }
    }
    for one in watched { close(one.fd) }
  }

  private static func open(_ own: Address, _ port: UInt16) -> pollfd {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
    _ = Endpoint(own, port: 0).withSocketAddress { bind(descriptor, $0, $1) }
    _ = Endpoint(Neighbours.tactus, port: port).withSocketAddress { connect(descriptor, $0, $1) }
    return pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
  }
}
