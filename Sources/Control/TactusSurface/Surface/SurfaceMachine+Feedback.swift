// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusOSC

// Sends values to the peers that asked for them or subscribed to them.
extension SurfaceMachine {
  /// Compares every row with the value that was sent last, and marks the rows that differ.
  mutating func tellChanges() {
    for (index, row) in table.rows.enumerated() {
      guard let read = row.read else { continue }
      let value = read(reading)
      guard value != told[index] else { continue }
      told[index] = value
      encoded[index] = nil
      for subscriber in subscribers.indices { subscribers[subscriber].mark(index) }
    }
  }

  /// Rebuilds the rows of outputs after outputs were added or removed. These rows come after all others.
  mutating func reshape() {
    table = settings.table.with(reading.state.lists.outputs)
    reading.own.outputChanges = (reading.own.outputChanges + 1) & Int(Int32.max)
    let kept = settings.table.rows.count
    told = told.prefix(kept) + table.rows[kept...].map { [reading] in $0.read?(reading) ?? [] }
    encoded = encoded.prefix(kept) + Array(repeating: nil, count: table.rows.count - kept)
    for index in subscribers.indices {
      subscribers[index].dirty = subscribers[index].dirty.filter { $0 < kept }
      subscribers[index].held = subscribers[index].held.filter { $0.key < kept }
      for row in kept..<table.rows.count { subscribers[index].mark(row) }
    }
  }

  /// The row's message, which is encoded once for all subscribers.
  mutating func packet(_ row: Int) -> [UInt8] {
    if let known = encoded[row] { return known }
    let bytes = LibloCodec.encode(
      Message(Table.address(table.rows[row].path), arguments: told[row]))
    encoded[row] = bytes
    return bytes
  }

  /// Returns the rows that this peer may read.
  func readable(_ rows: some Sequence<Int>, by target: Peer) -> [Int] {
    let isPaired = isPaired(target)
    return rows.filter { table.rows[$0].isReadable && (isPaired || !table.rows[$0].isForPaired) }
  }

  mutating func tell(_ rows: [Int], to target: Peer, framed: Bool) {
    let rows = readable(rows, by: target)
    guard !rows.isEmpty else { return }
    var packets = rows.map { packet($0) }
    if framed { packets = [updateFrame(1)] + packets + [updateFrame(0)] }
    for packet in packets { reply(packet, to: target) }
  }

  func updateFrame(_ value: Float) -> [UInt8] {
    LibloCodec.encode(Message(Table.address("update"), .float32(value)))
  }

  /// Sends all rows of the subscriber's groups, except the rows that it changes at present.
  mutating func dump(to index: Int) {
    let subscriber = subscribers[index]
    var packets: [[UInt8]] = []
    var told: [Int] = []
    if subscriber.groups.contains(.state) {
      for row in readable(table.rows.indices, by: subscriber.target) {
        subscribers[index].mark(row)
        if let end = subscriber.held[row], now < end { continue }
        told.append(row)
        packets += self.packets(row, in: subscriber.dialect)
      }
    }
    packets += feeds.snapshot(for: subscriber.groups, state: reading.state, at: now)
      .flatMap { feedPackets($0, in: subscriber.dialect) }
    guard !packets.isEmpty else { return }
    if subscriber.dialect == .own { packets = [updateFrame(1)] + packets + [updateFrame(0)] }
    // If nothing could be sent, the rows stay marked as changed.
    guard tell(Bundle.pack(packets), to: index) else { return }
    subscribers[index].dumped = now
    subscribers[index].dirty.subtract(told)
  }

  /// Sends all of these datagrams, or none if there is not room for all.
  private mutating func tell(_ datagrams: [[UInt8]], to index: Int) -> Bool {
    let target = subscribers[index].target
    guard maySend(target, bytes: datagrams.reduce(0) { $0 + $1.count }) else {
      subscribers[index].nextFlush = now + SurfaceLimits.unprovenInterval
      noteUnproven(index)
      return false
    }
    for datagram in datagrams { put(packet: datagram, to: target) }
    return true
  }

  mutating func flush() {
    for index in subscribers.indices {
      let rows = readable(subscribers[index].takeDue(at: now), by: subscribers[index].target)
      guard !rows.isEmpty else { continue }
      let dialect = subscribers[index].dialect
      let packets = rows.flatMap { self.packets($0, in: dialect) }
      guard !packets.isEmpty else { continue }
      var datagrams = Bundle.pack(packets)
      // Several bundles are framed by two update messages, so that a program knows when it has all of them.
      if datagrams.count > 1, dialect == .own {
        datagrams = Bundle.pack([updateFrame(1)] + packets + [updateFrame(0)])
      }
      if !tell(datagrams, to: index) { for row in rows { subscribers[index].mark(row) } }
    }
  }

  /// The messages of a row in a dialect, which may be none or several.
  private mutating func packets(_ row: Int, in dialect: Dialect) -> [[UInt8]] {
    switch dialect {
    case .own: [packet(row)]
    case .klick, .ardour:
      Aliases.translate(table.rows[row].path, in: dialect).map {
        LibloCodec.encode(Message($0, arguments: table.rows[row].translate(told[row], in: dialect)))
      }
    }
  }

  func feedPackets(_ feed: Feed, in dialect: Dialect) -> [[UInt8]] {
    switch dialect {
    case .own: [LibloCodec.encode(Message(Table.address(feed.path), arguments: feed.arguments))]
    case .klick, .ardour:
      Aliases.translate(feed.path, in: dialect).map {
        LibloCodec.encode(Message($0, arguments: feed.arguments))
      }
    }
  }

  /// Clears a controller's display as Ardour does when it leaves: lights off, labels blank.
  mutating func clear(_ index: Int) {
    let subscriber = subscribers[index]
    guard subscriber.dialect == .own else { return }
    var packets: [[UInt8]] = []
    for row in table.rows {
      let isTold =
        row.isReadable
        ? subscriber.groups.contains(.state)
        : row.kind == .feed
          && !subscriber.groups.isDisjoint(with: row.group)
      guard isTold else { continue }
      let blank: [Argument] = row.parameters.map { parameter in
        switch parameter {
        case .number, .fader, .beats, .flag: .float32(0)
        case .whole: .int32(0)
        case .word, .text: .string(" ")
        case .exact: .float64(0)
        }
      }
      packets.append(LibloCodec.encode(Message(Table.address(row.path), arguments: blank)))
    }
    for datagram in Bundle.pack(packets) { sendPacket(datagram, to: subscriber.target) }
  }

  /// All groups that any subscriber or any line of `--osc-tell` needs.
  var audience: Group { subscribers.reduce(into: outward.group) { $0.formUnion($1.groups) } }

  mutating func sendFeeds() {
    let audience = self.audience
    guard !audience.isEmpty else { return }
    let due = feeds.due(for: audience, state: reading.state, at: now)
    guard !due.isEmpty else { return }
    if let beat = due.first(where: { $0.path == "beat" }) {
      sayOutward(.beat)
      if beat.arguments.first == .int32(1) { sayOutward(.bar) }
    }
    for group in Group.names.map(\.group) {
      let messages = due.filter { $0.group == group }
      guard !messages.isEmpty else { continue }
      let own = Bundle.pack(messages.flatMap { feedPackets($0, in: .own) })
      for index in subscribers.indices
      where subscribers[index].groups.contains(group) && subscribers[index].nextTry == nil {
        let subscriber = subscribers[index]
        guard mayBeFed(subscriber.target) else {
          noteUnproven(index)
          continue
        }
        let datagrams =
          subscriber.dialect == .own
          ? own : Bundle.pack(messages.flatMap { feedPackets($0, in: subscriber.dialect) })
        for datagram in datagrams { sendPacket(datagram, to: subscriber.target) }
      }
    }
  }
}
