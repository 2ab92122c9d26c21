// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import CJACK
public import Choices
import Glibc
public import HostSync

/// An output of the user's own that JACK shall have a port for.
public struct OwnOutput: Hashable, Sendable {
  /// The port's.
  public var name: String
  public var settings: OutputSettings

  public init(name: String, settings: OutputSettings) {
    self.name = name
    self.settings = settings
  }

  /// In what patchbays show: its kind, group and signal.
  fileprivate var shown: (kind: String, group: String, signal: String) {
    switch settings.kind {
    case .clock: ("MIDI clock", "midi", "MIDI")
    case .mtc: ("MIDI timecode", "midi", "MIDI")
    case .pulse, .run, .reset: ("\(settings.kind)", "gates", "CV")
    case .click: ("click", "click", "AUDIO")
    case .ltc: ("timecode", "timecode", "AUDIO")
    }
  }
  fileprivate var isMIDI: Bool { settings.kind.isMIDI }
}

/// One that JACK has, and how it is doing.
public struct OwnOutputPort: Sendable {
  public let output: OwnOutput
  /// Frames from it to the ear.
  public let latency: UInt32
  /// Of a clock.
  public let figures: ClockFigures?
}

/// Of one of our ports: whether anybody listens, looked at now and then.
struct Listeners {
  /// How often somebody came where there was nobody; counted round.
  private(set) var count: UInt32 = 0
  private var came: Micros?
  private var areCounted = false
  /// A cable is shown before it carries anything.
  private static let patience = Micros(100_000)

  /// Whether there are some now, and were none at the last look but those that had just come. [control]
  mutating func haveCome(areThere: Bool, at now: Micros) -> Bool {
    guard areThere else {
      (came, areCounted) = (nil, false)
      return false
    }
    let since = came ?? now
    came = since
    guard !areCounted, now - since >= Self.patience else { return false }
    areCounted = true
    count &+= 1
    return true
  }
}

/// Those ports of one stay on a server. An output keeps its place in the table as long as it is there, and so the audio thread
/// its memory of it; a port that is taken away lives until the audio thread has let go of it. [control]
final class OutputPorts {
  private struct Open {
    var output: OwnOutput
    let handle: OpaquePointer
    let place: Int
    let number: UInt32
    var latency: UInt32 = 0
    var listeners = Listeners()

    var isClock: Bool { if case .clock = output.settings.kind { true } else { false } }

    /// It has the port that this one is to have.
    func canBe(_ wanted: OwnOutput) -> Bool { wanted.name == output.name && wanted.isMIDI == output.isMIDI }
  }

  private let client: OpaquePointer
  private let shared: UnsafePointer<SharedState>
  private let reader: LatencyReader
  private var open: [Open] = []
  /// Clocks that are to go, and are off first: their machines are told to stop. With the table that says so.
  private var silenced: [(output: Open, table: UInt32)] = []
  private var leaving: LeavingPorts
  private var count: UInt32 = 0
  private var wanted: [OwnOutput] = []
  private var clockListeners = Listeners()

  /// Before the client is active.
  init(client: OpaquePointer, shared: UnsafePointer<SharedState>, reader: LatencyReader) {
    self.client = client
    self.shared = shared
    self.reader = reader
    shared.pointee.isLeaving.store(false, ordering: .relaxed)
    // Nobody listens yet on this server.
    shared.pointee.clockConnections.store(0, ordering: .relaxed)
    leaving = LeavingPorts(client: client, seen: shared.pointee.outputsSeen.load(ordering: .acquiring))
    publish()
  }

  /// Makes what is missing, takes away what is not wanted any more, and gives the others their settings. What JACK refuses is
  /// tried again when ports have gone.
  func carry(_ wanted: [OwnOutput]) {
    self.wanted = wanted
    open += silenced.filter { wanted.contains(where: $0.output.canBe) }.map(\.output)
    silenced.removeAll { wanted.contains(where: $0.output.canBe) }
    for gone in open where !wanted.contains(where: gone.canBe) { remove(gone) }
    open.removeAll { !wanted.contains(where: $0.canBe) }
    // Patchbays show a port's kind: a fresh port, and one whose output has become another kind.
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
    last.output.settings.clock.isOn = false
    silenced.append((last, leaving.comingNumber))
  }

  /// Latencies that may have changed, who listens to clocks, `clock` among them, and ports that nobody has any more.
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

  /// Before all ports go: who plays by our clocks would wait for the next one for ever. In a whole cycle, if there still is one.
  func stopMachines() {
    carry([])
    shared.pointee.isLeaving.store(true, ordering: .relaxed)
    let before = shared.pointee.cycles.load(ordering: .relaxed)
    for _ in 0..<500 where shared.pointee.cycles.load(ordering: .relaxed) &- before < 2 { usleep(1_000) }
  }

  /// What patchbays were told goes before the ports do.
  func forget() { PortProperties(client: client).forget(all.map(\.handle)) }

  /// Those that are to go among them.
  private var all: [Open] { open + silenced.map(\.output) }

  var isConnected: Bool { open.contains { jack_port_connected($0.handle) > 0 } }

  var named: [(String, OpaquePointer)] { open.map { ($0.output.name, $0.handle) } }

  /// The names of those that click.
  var clicks: [String] {
    open.filter { if case .click = $0.output.settings.kind { true } else { false } }.map(\.output.name)
  }

  /// By their names.
  var shown: [String: OwnOutputPort] {
    let all = open.contains(where: \.isClock) ? shared.pointee.figures.read() : OutputFigures()
    return Dictionary(
      open.map { one in
        let figures = one.isClock ? all.places[one.place] : nil
        return (one.output.name, OwnOutputPort(output: one.output, latency: one.latency, figures: figures))
      }, uniquingKeysWith: { first, _ in first })
  }

  private func describe(_ changed: [Open]) {
    PortProperties(client: client).describe(
      changed.map { one in
        let shown = one.output.shown
        return (
          one.handle,
          [
            "pretty-name": "\(one.output.name) (\(shown.kind))", "port-group": shown.group,
            one.output.isMIDI ? "event-types" : "signal-type": shown.signal,
          ]
        )
      })
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
        number: one.number, revision: table.number, settings: one.output.settings, latency: one.latency,
        connections: one.listeners.count)
      table.places[one.place] = OutputPlace(port: one.handle, slot: slot)
      table.used = max(table.used, one.place + 1)
      delay = max(delay, slot.startDelay(frameMicros: frameMicros))
    }
    shared.pointee.ownDelay.store(delay.count, ordering: .relaxed)
    shared.pointee.outputs.publish(table)
  }
}
