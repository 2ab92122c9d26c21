// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkAddresses
import LinkSystem
import TactusOSC

/// Examines on each interface whether Link's multicast gets out and comes in: it sends a datagram to Link's
/// own group and port, and listens for it there. Link's peers ignore it.
enum NetworkExamination {
  struct Interface: Equatable {
    enum Outcome: Equatable {
      case heard
      case notSent(errno: Int32)
      /// The datagram left the machine but did not come back in, because a firewall blocks it.
      case notHeard
      case noSocket(errno: Int32)
    }

    var name: String
    var address: String
    var isLoopback = false
    var hasMulticast = true
    var isWireless = false
    var outcome: Outcome
    /// Peers heard during the examination, without the tactus that runs here.
    var peers: [String] = []
  }

  /// Link's group and port.
  private static let group = Endpoint(.v4(0xE04C_4E4B), port: 20808)
  /// Long enough to hear two announcements of every peer.
  private static let listeningTime = Duration.milliseconds(600)

  /// - Parameter own: the ports of the tactus that runs here, so that it does not count as a peer.
  static func interfaces(own: Set<UInt16>) -> [Interface] {
    let running = (LinkAddresses.Interface.up() ?? []).filter(\.isRunning)
    let all = running.flatMap { found in found.addresses.filter { !$0.isIPv6 }.map { (found, $0) } }
    let us = Set(all.flatMap { address in own.map { Endpoint(address.1, port: $0) } })
    return all.prefix(64).map { examine($0.0, $0.1, besides: us) }
  }

  private static func examine(
    _ found: LinkAddresses.Interface, _ ours: Address, besides us: Set<Endpoint>
  ) -> Interface {
    let address = ours.v4Bits
    var interface = Interface(
      name: found.name, address: ours.description, isLoopback: found.isLoopback,
      hasMulticast: found.hasMulticast,
      isWireless: access("/sys/class/net/\(found.name)/wireless", F_OK) == 0, outcome: .notHeard)
    let descriptor: Int32
    do throws(OpenFailure) {
      descriptor = try openSocket(group, SOCK_DGRAM)
    } catch {
      interface.outcome = .noSocket(errno: error.code)
      return interface
    }
    defer { close(descriptor) }
    if let failure = prepare(descriptor, address: address) {
      interface.outcome = .noSocket(errno: failure)
      return interface
    }
    let nonce = Array("tactus doctor \(UInt64.random(in: 0...UInt64.max))".utf8)
    if let failure = send(nonce, on: descriptor) {
      interface.outcome = .notSent(errno: failure)
      return interface
    }
    listen(on: descriptor, for: nonce, besides: us, &interface)
    return interface
  }

  /// Prepares the socket. Returns nil, or the error number of the system call that failed.
  private static func prepare(_ descriptor: Int32, address: UInt32) -> Int32? {
    setOption(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
    // Receive only datagrams that come to the group on this interface.
    setOption(descriptor, Int32(IPPROTO_IP), IP_MULTICAST_ALL, 0)
    let bound = group.withSocketAddress { bind(descriptor, $0, $1) }
    guard bound == 0 else { return errno }
    var membership = ip_mreqn()
    membership.imr_multiaddr.s_addr = group.address.v4Bits.bigEndian
    membership.imr_address.s_addr = address.bigEndian
    let length = socklen_t(MemoryLayout<ip_mreqn>.size)
    guard setsockopt(descriptor, Int32(IPPROTO_IP), IP_ADD_MEMBERSHIP, &membership, length) == 0,
      setsockopt(descriptor, Int32(IPPROTO_IP), IP_MULTICAST_IF, &membership, length) == 0
    else { return errno }
    return nil
  }

  private static func send(_ bytes: [UInt8], on descriptor: Int32) -> Int32? {
    let sent = group.withSocketAddress { address, length in
      bytes.withUnsafeBytes { sendto(descriptor, $0.baseAddress, $0.count, 0, address, length) }
    }
    return sent == bytes.count ? nil : errno
  }

  private static func listen(
    on descriptor: Int32, for nonce: [UInt8], besides us: Set<Endpoint>, _ interface: inout Interface
  ) {
    let deadline = ContinuousClock.now + listeningTime
    var buffer = [UInt8](repeating: 0, count: 2048)
    var peers: Set<String> = []
    while ContinuousClock.now < deadline {
      var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&wait, 1, 50) > 0 else { continue }
      let received = buffer.withUnsafeMutableBytes { receiveDatagram(descriptor, into: $0) }
      guard case .datagram(let arrival) = received else { continue }
      let (bytes, source) = (buffer[..<arrival.count], arrival.from)
      if bytes.elementsEqual(nonce) {
        interface.outcome = .heard
      } else if bytes.starts(with: Array("_asdp_v".utf8)), !us.contains(source), peers.count < 256 {
        peers.insert("\(source)")
      }
    }
    interface.peers = peers.sorted()
  }

  static func judge(_ interfaces: [Interface]) -> [Finding] {
    let outside = interfaces.filter { !$0.isLoopback }
    let nowhere: [Finding] =
      outside.isEmpty
      ? [
        .note(
          "Network", "there is none: tactus reaches only the Link apps of this machine",
          mend: "Plug in a cable or join a Wi-Fi network; tactus notices by itself.")
      ] : []
    return nowhere + interfaces.compactMap(judge)
  }

  private static func judge(_ interface: Interface) -> Finding? {
    let topic = "Network \(interface.name)"
    switch interface.outcome {
    case .heard: return heard(interface, topic)
    case .notHeard:
      return .bad(
        topic, "\(interface.address): Link's packets go out, but do not come in: a firewall blocks them",
        mend:
          "Let UDP from the local network in: sudo ufw allow proto udp from "
          + "\(network(of: interface.address)), or put the interface into firewalld's zone \"home\" or "
          + "\"trusted\". Link needs at least 224.76.78.75 port 20808, and the free ports that its "
          + "measurements and Link Audio use.")
    case .notSent(let code) where code == ENETUNREACH || code == ENETDOWN:
      // Most machines have no multicast route on loopback. Link needs no such route if the machine has
      // a network.
      guard !interface.isLoopback else { return nil }
      return .bad(
        topic, "\(interface.address): this machine has no route for multicast",
        mend: "As root: ip route add 224.0.0.0/4 dev \(interface.name)")
    case .notSent(let code) where code == EPERM || code == EACCES:
      return .bad(
        topic, "\(interface.address): a firewall blocks outgoing packets to Link's multicast address",
        mend: "Let UDP to 224.76.78.75 port 20808 out.")
    case .notSent(let code), .noSocket(let code):
      let hint = interface.hasMulticast ? "" : ", and the interface has no multicast"
      guard !interface.isLoopback else { return nil }
      return .bad(
        topic,
        "\(interface.address): Link's packets can't be sent: \(String(cString: strerror(code)))\(hint)",
        mend:
          "As root: ip link set \(interface.name) multicast on; ip route add 224.0.0.0/4 dev \(interface.name)"
      )
    }
  }

  private static func heard(_ interface: Interface, _ topic: String) -> Finding {
    let peers = interface.peers.count
    let words =
      "\(interface.address): Link gets through"
      + (peers == 0
        ? "; no other peer was heard" : "; \(peers) other \(peers == 1 ? "peer was" : "peers were") heard")
    if !interface.hasMulticast, !interface.isLoopback {
      return .note(
        topic,
        words + ". But multicast is switched off for the interface, and some network cards then drop it",
        mend: "As root: ip link set \(interface.name) multicast on")
    }
    guard interface.isWireless else { return .good(topic, words) }
    return .note(
      topic, words + ". Wi-Fi may delay packets by tens of milliseconds",
      mend: "On stage a cable is steadier. For Link Audio over Wi-Fi, set a delay of a beat or a bar.")
  }

  /// The network of an address, 192.168.7.0/24 for 192.168.7.20: most home networks have this size.
  private static func network(of address: String) -> String {
    address.hasPrefix("127.")
      ? "127.0.0.0/8" : address.split(separator: ".").dropLast().joined(separator: ".") + ".0/24"
  }
}
