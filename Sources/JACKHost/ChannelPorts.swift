// SPDX-License-Identifier: GPL-2.0-or-later
public import AudioLanes
import CJACK
import Choices

/// A channel that JACK shall have ports for.
public struct AudioChannelPorts: Sendable {
  public enum Lane: Sendable {
    /// Input ports, one or two, as the lane has channels.
    case send(SendLane)
    /// Two output ports. nil: silence, until its channel is there.
    case receive(ReceiveLane?)
  }

  /// The ports' name, without _l and _r.
  public var name: String
  /// What patchbays show.
  public var pretty: String
  public var lane: Lane
  /// Of what is received; nil: that of all.
  public var delay: AudioDelay?

  public init(name: String, pretty: String, lane: Lane, delay: AudioDelay? = nil) {
    self.name = name
    self.pretty = pretty
    self.lane = lane
    self.delay = delay
  }

  public static var limit: Int { ChannelTable.limit }

  /// Of each of its ports, left first.
  public var portNames: [String] {
    switch lane {
    case .send(let lane) where lane.channelCount == 1: [name]
    case .send, .receive: [name + "_l", name + "_r"]
    }
  }

  /// Whether some channel has a port of this name, as far as that can be said of one that is not there.
  public static func canHavePort(_ name: String) -> Bool {
    (1...200).contains(name.utf8.count) && !name.contains(":")
      && (name.hasPrefix(AudioChannelPorts.sentPrefix) || name.hasSuffix("_l") || name.hasSuffix("_r"))
  }

  /// Of the names of ports of what we send.
  public static var sentPrefix: String { "send_" }

  fileprivate var isSent: Bool { if case .send = lane { true } else { false } }
}

/// The channels' ports of one stay on a server. A lane that is taken away lives until the audio thread has let go of it, and
/// its ports with it. [control]
final class ChannelPorts {
  private struct Open {
    var channel: AudioChannelPorts
    var handles: [OpaquePointer]
    var latency: UInt32 = 0

    func hasPorts(of other: AudioChannelPorts) -> Bool {
      channel.isSent == other.isSent && channel.portNames == other.portNames
    }
  }

  private struct Leaving {
    /// Keeps the lane.
    let channel: AudioChannelPorts
    let handles: [OpaquePointer]
    /// The first table without it.
    let table: UInt32
  }

  private let client: OpaquePointer
  private let shared: UnsafePointer<SharedState>
  private var open: [Open] = []
  private var leaving: [Leaving] = []
  private var number: UInt32
  private var wanted: [AudioChannelPorts] = []

  /// Before the client is active.
  init(client: OpaquePointer, shared: UnsafePointer<SharedState>) {
    self.client = client
    self.shared = shared
    number = shared.pointee.channelsSeen.load(ordering: .acquiring)
    publish()
  }

  /// Makes what is missing, takes away what is not wanted any more. What JACK refuses is tried again when ports have gone.
  func carry(_ wanted: [AudioChannelPorts]) {
    self.wanted = wanted
    var left = open
    var kept: [Open] = []
    var fresh: [Open] = []
    for channel in wanted {
      if let place = left.firstIndex(where: { $0.channel.name == channel.name && $0.hasPorts(of: channel) }) {
        var same = left.remove(at: place)
        leaving.append(Leaving(channel: same.channel, handles: [], table: number &+ 1))
        same.channel = channel
        kept.append(same)
      } else if let handles = register(channel) {
        fresh.append(Open(channel: channel, handles: handles))
      }
    }
    for gone in left {
      leaving.append(Leaving(channel: gone.channel, handles: gone.handles, table: number &+ 1))
    }
    describe(fresh)
    open = kept + fresh
    readLatencies()
    publish()
  }

  /// Latencies that may have changed, and lanes that nobody has any more.
  func step() {
    let seen = shared.pointee.channelsSeen.load(ordering: .acquiring)
    let over = leaving.filter { !$0.table.isAfter(seen) }.flatMap(\.handles)
    forget(over)
    for handle in over { jack_port_unregister(client, handle) }
    let wereLeaving = leaving.count
    leaving.removeAll { !$0.table.isAfter(seen) }
    // A name may be free again.
    if leaving.isEmpty, wereLeaving > 0, open.count < wanted.count { return carry(wanted) }
    let before = open.map(\.latency)
    readLatencies()
    if open.map(\.latency) != before { publish() }
  }

  /// Without the client's name, and libjack's handles.
  var named: [(String, OpaquePointer?)] {
    open.flatMap { zip($0.channel.portNames, $0.handles).map { ($0, $1) } }
  }

  /// What patchbays were told goes before the ports do.
  func forget() { forget(open.flatMap(\.handles)) }

  /// jack2 keeps properties after their port is gone and gives its number to the next one.
  private func forget(_ handles: [OpaquePointer]) {
    guard !handles.isEmpty, let turn = ServerTurn() else { return }
    defer { turn.end() }
    for handle in handles { jack_remove_properties(client, jack_port_uuid(handle)) }
  }

  private func describe(_ fresh: [Open]) {
    guard !fresh.isEmpty, let turn = ServerTurn() else { return }
    defer { turn.end() }
    for one in fresh {
      for (place, handle) in one.handles.enumerated() {
        let side = one.handles.count == 1 ? "" : place == 0 ? " left" : " right"
        let subject = jack_port_uuid(handle)
        func set(_ key: String, _ value: String) {
          jack_set_property(client, subject, "http://jackaudio.org/metadata/" + key, value, "text/plain")
        }
        set("pretty-name", one.channel.pretty + side)
        set("port-group", one.channel.pretty)
        set("signal-type", "AUDIO")
      }
    }
  }

  private func register(_ channel: AudioChannelPorts) -> [OpaquePointer]? {
    let flags = (channel.isSent ? JackPortIsInput : JackPortIsOutput).rawValue | JackPortIsTerminal.rawValue
    var handles: [OpaquePointer] = []
    for name in channel.portNames {
      guard let handle = jack_port_register(client, name, JACK_DEFAULT_AUDIO_TYPE, UInt(flags), 0) else {
        for handle in handles { jack_port_unregister(client, handle) }
        return nil
      }
      handles.append(handle)
    }
    return handles
  }

  private func readLatencies() {
    for place in open.indices {
      let mode = open[place].channel.isSent ? JackCaptureLatency : JackPlaybackLatency
      open[place].latency =
        open[place].handles.map { handle in
          var range = jack_latency_range_t()
          jack_port_get_latency_range(handle, mode, &range)
          return range.max
        }.max() ?? 0
    }
  }

  private func publish() {
    number &+= 1
    var table = ChannelTable()
    table.number = number
    for one in open {
      let left = one.handles.first
      let right = one.handles.count > 1 ? one.handles[1] : nil
      switch one.channel.lane {
      case .send(let lane) where table.sentCount < ChannelTable.limit:
        table.sent[table.sentCount] = SentPorts(
          end: lane.audio, left: left, right: right, latency: one.latency)
        table.sentCount += 1
      case .receive(let lane) where table.receivedCount < ChannelTable.limit:
        table.received[table.receivedCount] = ReceivedPorts(
          end: lane?.audio, left: left, right: right, latency: one.latency, delay: one.channel.delay)
        table.receivedCount += 1
      case .send, .receive: break
      }
    }
    shared.pointee.channels.publish(table)
  }
}
