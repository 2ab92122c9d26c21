// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK
import Glibc
import LinkBeatMath
public import TactusChoices
public import TactusSync

/// An output that the user added, and that is to have a port in JACK.
public struct OwnOutput: Hashable, Sendable {
  /// The port's name.
  public var name: String
  public var settings: OutputSettings
  /// The output's offset, as in `Settings.offsets`: positive is earlier.
  public var offset: Micros

  public init(name: String, settings: OutputSettings, offset: Micros = .zero) {
    self.name = name
    self.settings = settings
    self.offset = offset
  }

  /// The properties that patchbays show for the output's port.
  fileprivate var properties: KeyValuePairs<String, String> {
    let kind = settings.kind
    let (type, signal) =
      switch kind.group {
      case .midi: ("event-types", "MIDI")
      case .gates: ("signal-type", "CV")
      case .click, .timecode: ("signal-type", "AUDIO")
      }
    return [
      "pretty-name": "\(name) (\(kind.label.map { "\($0)" } ?? "\(kind)"))", "port-group": "\(kind.group)",
      type: signal,
    ]
  }
  fileprivate var isMIDI: Bool { settings.kind.isMIDI }
}

/// A user's output that has a port, and its present state.
public struct OwnOutputPort: Sendable {
  public let output: OwnOutput
  /// The number of frames from the port to the ear.
  public let latency: UInt32
  /// The figures of a MIDI clock; nil: the output is no MIDI clock.
  public let figures: ClockFigures?
}

/// Looks now and then at one of our ports, and notices when the port, which had no connection, gets one.
struct Listeners {
  /// How often the port went from no connection to one; wraps around.
  private(set) var count: UInt32 = 0
  private var came: Micros?
  private var areCounted = false
  /// The time for which a connection must have existed before it counts: JACK shows a connection a little
  /// before it carries messages.
  private static let settlingTime = Micros(100_000)

  /// Looks at the port. After the port has gone from no connection to one, returns true a single time,
  /// `settlingTime` later. [control]
  mutating func haveCome(areThere: Bool, at now: Micros) -> Bool {
    guard areThere else {
      (came, areCounted) = (nil, false)
      return false
    }
    let since = came ?? now
    came = since
    guard !areCounted, now - since >= Self.settlingTime else { return false }
    areCounted = true
    count &+= 1
    return true
  }
}

/// The ports of the user's outputs on one server. As long as an output exists, it keeps its place in the
/// table, and so the audio thread keeps the output's state. A port that is removed lives until the audio
/// thread no longer uses it. [control]
final class OutputPorts {
  private struct Open {
    var output: OwnOutput
    let handle: OpaquePointer
    let place: Int
    let number: UInt32
    var latency: UInt32 = 0
    var listeners = Listeners()

    var isClock: Bool { if case .clock = output.settings { true } else { false } }

    /// Whether this output's port can serve the output `wanted`.
    func canBe(_ wanted: OwnOutput) -> Bool { wanted.name == output.name && wanted.isMIDI == output.isMIDI }
  }

  private let client: OpaquePointer
  private let shared: UnsafePointer<SharedState>
  private let reader: LatencyReader
  private var open: [Open] = []
  /// MIDI clocks that are to be removed. They are switched off first, so that their receivers get a Stop.
  /// `table` is the number of the first table in which they are switched off.
  private var silenced: [(output: Open, table: UInt32)] = []
  private var leaving: LeavingPorts
  private var count: UInt32 = 0
  private var wanted: [OwnOutput] = []
  private var clockListeners = Listeners()

  /// Call this initializer before the client is active.
  init(client: OpaquePointer, shared: UnsafePointer<SharedState>, reader: LatencyReader) {
    self.client = client
    self.shared = shared
    self.reader = reader
    shared.pointee.isLeaving.store(false, ordering: .relaxed)
    // No port is connected yet on this server.
    shared.pointee.clockConnections.store(0, ordering: .relaxed)
    leaving = LeavingPorts(client: client, seen: shared.pointee.outputsSeen.load(ordering: .acquiring))
    publish()
  }

  /// Registers missing ports, removes unwanted ports and gives all others their settings. If JACK refuses a
  /// port, `step` asks once more when other ports have gone.
  func carry(_ wanted: [OwnOutput]) {
    self.wanted = wanted
    open += silenced.filter { wanted.contains(where: $0.output.canBe) }.map(\.output)
    silenced.removeAll { wanted.contains(where: $0.output.canBe) }
    for gone in open where !wanted.contains(where: gone.canBe) { remove(gone) }
    open.removeAll { !wanted.contains(where: $0.canBe) }
    // Patchbays show a port's kind, so describe new ports and those whose kind has changed.
    var changed: [Open] = []
    for output in wanted.prefix(OutputTable.limit) {
      if let place = open.firstIndex(where: { $0.output.name == output.name }) {
        let isOther = open[place].output.settings.kind != output.settings.kind
        open[place].output = output
        if isOther { changed.append(open[place]) }
      } else if let one = register(output) {
        open.append(one)
        changed.append(one)
      }
    }
    describe(changed)
    readLatencies()
    publish()
  }

  private func remove(_ one: Open) {
    guard one.isClock else { return leaving.leave([one.handle]) }
    var last = one
    last.output.settings.clock?.isOn = false
    silenced.append((last, leaving.comingNumber))
  }

  /// Looks for changed latencies, for new connections of MIDI clocks (`clock` is the standing MIDI clock),
  /// and for ports that the audio thread no longer uses.
  func step(clock: OpaquePointer?, at now: Micros) {
    if clockListeners.haveCome(areThere: jack_port_connected(clock) > 0, at: now) {
      shared.pointee.clockConnections.wrappingAdd(1, ordering: .relaxed)
    }
    let seen = shared.pointee.outputsSeen.load(ordering: .acquiring)
    let areNamesFree = leaving.letGo(seen: seen)
    if areNamesFree, open.count < wanted.count { return carry(wanted) }
    let told = silenced.filter { !$0.table.isAfter(seen) }
    for one in told { leaving.leave([one.output.handle]) }
    silenced.removeAll { !$0.table.isAfter(seen) }
    let before = open.map(\.latency)
    readLatencies()
    var isNews = !told.isEmpty || open.map(\.latency) != before
    for place in open.indices where open[place].isClock {
      let areThere = jack_port_connected(open[place].handle) > 0
      if open[place].listeners.haveCome(areThere: areThere, at: now) { isNews = true }
    }
    if isNews { publish() }
  }

  /// Sends Stop on all MIDI clocks before their ports go: without Stop the receivers would wait for the next
  /// clock message for ever. Waits until one whole cycle has run, if cycles still run.
  func stopMachines() {
    carry([])
    shared.pointee.isLeaving.store(true, ordering: .relaxed)
    let before = shared.pointee.cycles.load(ordering: .relaxed)
    for _ in 0..<500 where shared.pointee.cycles.load(ordering: .relaxed) &- before < 2 { usleep(1_000) }
  }

  /// Removes the ports' metadata. Call this before the ports are unregistered.
  func forget() { PortProperties(client: client).forget(all.map(\.handle)) }

  /// All outputs with a port, including the MIDI clocks that are to be removed.
  private var all: [Open] { open + silenced.map(\.output) }

  var isConnected: Bool { open.contains { jack_port_connected($0.handle) > 0 } }

  var named: [(String, OpaquePointer)] { open.map { ($0.output.name, $0.handle) } }

  /// The names of the user's outputs that are clicks.
  var clicks: [String] {
    open.filter { if case .click = $0.output.settings { true } else { false } }.map(\.output.name)
  }

  /// The outputs that have a port, by name.
  var shown: [String: OwnOutputPort] {
    let all = open.contains(where: \.isClock) ? shared.pointee.figures.read() : OutputFigures()
    return Dictionary(
      open.map { one in
        let figures = one.isClock ? all.places[one.place] : nil
        return (one.output.name, OwnOutputPort(output: one.output, latency: one.latency, figures: figures))
      }, uniquingKeysWith: { first, _ in first })
  }

  private func describe(_ changed: [Open]) {
    PortProperties(client: client).describe(changed.map { ($0.handle, $0.output.properties) })
  }

  private func register(_ output: OwnOutput) -> Open? {
    let taken = Set(all.map(\.place))
    guard let place = (0..<OutputTable.limit).first(where: { !taken.contains($0) }) else { return nil }
    let type = output.isMIDI ? JACK_DEFAULT_MIDI_TYPE : JACK_DEFAULT_AUDIO_TYPE
    let flags = JackPortIsOutput.rawValue | JackPortIsTerminal.rawValue
    guard let handle = jack_port_register(client, output.name, type, UInt(flags), 0) else { return nil }
    count &+= 1
    return Open(output: output, handle: handle, place: place, number: count)
  }

  private func readLatencies() {
    for place in open.indices {
      open[place].latency = reader.toEar(open[place].handle, isMIDI: open[place].output.isMIDI)
    }
  }

  private func publish() {
    var table = OutputTable()
    table.number = leaving.nextNumber()
    let frameMicros = 1e6 / Double(max(1, jack_get_sample_rate(client)))
    var delay = Micros.zero
    for one in all {
      let slot = OutputSlot(
        number: one.number, revision: table.number, settings: one.output.settings, offset: one.output.offset,
        latency: one.latency, connections: one.listeners.count)
      table.places[one.place] = OutputPlace(port: one.handle, slot: slot)
      table.used = max(table.used, one.place + 1)
      delay = max(delay, slot.startDelay(frameMicros: frameMicros))
    }
    shared.pointee.ownDelay.store(delay.count, ordering: .relaxed)
    shared.pointee.outputs.publish(table)
  }
}
