// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK
public import LinkAudioLanes
import TactusChoices

/// A channel of Link Audio that is to have ports in JACK.
public struct AudioChannelPorts: Sendable {
  public enum Lane: Sendable {
    /// A channel that we send. `SendLane` carries the ports' sound to the network. A mono lane has one input
    /// port, a stereo lane two.
    case send(SendLane)
    /// A channel that we receive, with two output ports. `ReceiveLane` carries the network's sound to them.
    /// nil: the channel is absent, and its ports play silence.
    case receive(ReceiveLane?)
  }

  /// The name of the channel's ports, without the ending `_l` or `_r`.
  public var name: String
  /// The name that patchbays show.
  public var pretty: String
  public var lane: Lane
  /// The delay of a received channel; nil: the delay from the settings.
  public var delay: AudioDelay?

  public init(name: String, pretty: String, lane: Lane, delay: AudioDelay? = nil) {
    self.name = name
    self.pretty = pretty
    self.lane = lane
    self.delay = delay
  }

  public static var limit: Int { ChannelTable.limit }

  /// The name of each port of the channel, the left one first.
  public var portNames: [String] {
    switch lane {
    case .send(let lane) where lane.channelCount == 1: [name]
    case .send, .receive: ["\(name)\(ChannelPortName.left)", "\(name)\(ChannelPortName.right)"]
    }
  }

  /// Whether a channel could have a port of this name. Only the form of the name is checked, since the
  /// channel may be absent.
  public static func canHavePort(_ name: String) -> Bool {
    (1...200).contains(name.utf8.count) && !name.contains(":") && ChannelPortName.isOne(name.utf8)
  }

  fileprivate var isSent: Bool { if case .send = lane { true } else { false } }
}

/// The ports of Link Audio's channels on one server. A removed lane (the path of a channel's sound between
/// the network and the audio thread) and its ports live until the audio thread no longer uses them. [control]
final class ChannelPorts {
  private struct Open {
    var channel: AudioChannelPorts
    var handles: [OpaquePointer]
    var latency: UInt32 = 0

    func hasPorts(of other: AudioChannelPorts) -> Bool {
      channel.isSent == other.isSent && channel.portNames == other.portNames
    }
  }

  private let client: OpaquePointer
  private let shared: UnsafePointer<SharedState>
  private let reader: LatencyReader
  private var open: [Open] = []
  private var leaving: LeavingPorts
  private var wanted: [AudioChannelPorts] = []

  /// Call this initializer before the client is active.
  init(client: OpaquePointer, shared: UnsafePointer<SharedState>, reader: LatencyReader) {
    self.client = client
    self.shared = shared
    self.reader = reader
    leaving = LeavingPorts(client: client, seen: shared.pointee.channelsSeen.load(ordering: .acquiring))
    publish()
  }

  /// Registers the missing ports of the wanted channels, and removes the ports of all other channels. If JACK
  /// refuses a port, `step` asks once more when other ports have gone.
  func carry(_ wanted: [AudioChannelPorts]) {
    self.wanted = wanted
    var left = open
    var kept: [Open] = []
    var fresh: [Open] = []
    var renamed: [Open] = []
    for channel in wanted {
      if let place = left.firstIndex(where: { $0.channel.name == channel.name && $0.hasPorts(of: channel) }) {
        var same = left.remove(at: place)
        let isRenamed = same.channel.pretty != channel.pretty
        leaving.leave([], keeping: same.channel.lane)
        same.channel = channel
        kept.append(same)
        if isRenamed { renamed.append(same) }
      } else if let handles = register(channel) {
        fresh.append(Open(channel: channel, handles: handles))
      }
    }
    for gone in left { leaving.leave(gone.handles, keeping: gone.channel.lane) }
    describe(fresh + renamed)
    open = kept + fresh
    readLatencies()
    publish()
  }

  /// Looks for changed latencies, and for lanes that the audio thread no longer uses.
  func step() {
    let areNamesFree = leaving.letGo(seen: shared.pointee.channelsSeen.load(ordering: .acquiring))
    if areNamesFree, open.count < wanted.count { return carry(wanted) }
    let before = open.map(\.latency)
    readLatencies()
    if open.map(\.latency) != before { publish() }
  }

  /// The ports' names without the client's name, and libjack's handles of the ports.
  var named: [(String, OpaquePointer?)] {
    open.flatMap { zip($0.channel.portNames, $0.handles).map { ($0, $1) } }
  }

  /// Removes the ports' metadata. Call this before the ports are unregistered.
  func forget() { PortProperties(client: client).forget(open.flatMap(\.handles)) }

  private func describe(_ fresh: [Open]) {
    PortProperties(client: client).describe(
      fresh.flatMap { one in
        one.handles.enumerated().map { place, handle in
          let side = one.handles.count == 1 ? "" : place == 0 ? " left" : " right"
          let pretty = one.channel.pretty
          return (handle, ["pretty-name": pretty + side, "port-group": pretty, "signal-type": "AUDIO"])
        }
      })
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
      open[place].latency = open[place].handles.map { reader.frames(of: $0, mode) }.max() ?? 0
    }
  }

  private func publish() {
    var table = ChannelTable()
    table.number = leaving.nextNumber()
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
