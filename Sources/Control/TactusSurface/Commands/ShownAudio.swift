// SPDX-License-Identifier: GPL-2.0-or-later
import TactusOSC

/// A channel of Link Audio as controllers see it.
public struct ShownChannel: Hashable, Sendable {
  /// The name of the channel; a received channel has the peer's name before it.
  public var name: String
  public var isSent: Bool
  /// The user's text that selected the channel: its name, or a pattern for many channels such as "*/*".
  public var takenBy = ""
  public var listeners = 0
  /// The state of a received channel.
  public var state = State.unknown
  public var delayMilliseconds = 0.0
  public var bufferMilliseconds = 0.0
  public var jitterMilliseconds = 0.0
  public var arrivalMilliseconds = 0.0
  public var decibels = -90.0
  public var sampleRate = 0
  public var dropouts = 0
  public var lost = 0
  public var late = 0

  /// The states of a received channel.
  public enum State: UInt8, StateWord {
    /// The channel's first sound has come, and will be heard after the channel's delay.
    case begins
    case plays
    /// The channel's peer sends only silence, so tactus does not request the sound.
    case silent
    /// A peer offers the channel, but sends nothing.
    case idle
    /// No peer offers the channel.
    case absent
    case unknown

    var words: String {
      switch self {
      case .begins, .plays: word
      case .silent: "is silent"
      case .idle: "sends nothing"
      case .absent: "is not there"
      case .unknown: SurfaceState.unknown
      }
    }
  }

  /// The state in words.
  var health: String {
    guard isSent else { return state.words }
    return listeners == 0 ? "nobody listens" : "\(listeners) listen"
  }

  /// The name and the number of listeners, or the state, delay and gaps of a received channel, in words. A
  /// channel without a name has no words.
  fileprivate var words: String {
    if name.isEmpty { return "" }
    if isSent { return "\(name) (\(listeners))" }
    let delay = delayMilliseconds > 0 ? ", \(shortest(delayMilliseconds)) ms" : ""
    let gaps = dropouts == 0 ? "" : dropouts == 1 ? ", 1 gap" : ", \(dropouts) gaps"
    return "\(name) (\(state.words)\(delay)\(gaps))"
  }

  public init(name: String, isSent: Bool) {
    self.name = name
    self.isSent = isSent
  }
}

/// Link Audio as controllers see it.
public struct ShownAudio: Hashable, Sendable {
  public var offered: [String] = []
  public var channels: [ShownChannel] = []
  public var thread = Thread.off

  public enum Thread: UInt8, StateWord {
    case off, realTime, ordinary, slowed, unknown

    public var word: String { self == .realTime ? "realtime" : "\(self)" }

    package var words: String {
      switch self {
      case .off: "off"
      case .realTime: "real time"
      case .ordinary: "ordinary"
      case .slowed: "slowed"
      case .unknown: SurfaceState.unknown
      }
    }
  }

  /// The sent channels in words, with their numbers of listeners.
  package var sent: String { Self.list(channels.filter(\.isSent).map(\.words)) }

  /// The received channels in words, with their states.
  package var received: String { Self.list(channels.filter { !$0.isSent }.map(\.words)) }

  /// Joins the texts to one line. If some of them are empty or do not fit, the line ends with their number.
  static func list(_ words: [String]) -> String {
    guard let first = words.first else { return "none" }
    let room = limit - " and 1000 more".count
    var text = printable(first, limit: room)
    for (index, word) in words.enumerated().dropFirst() {
      let next = ", " + printable(word, limit: room)
      let isLast = index == words.count - 1
      guard !word.isEmpty, text.unicodeScalars.count + next.unicodeScalars.count <= (isLast ? limit : room)
      else {
        return text + " and \(words.count - index) more"
      }
      text += next
    }
    return text
  }

  private static let limit = 250

  /// The channels that peers offer and that are not received.
  var waiting: [String] {
    let received = Set(channels.filter { !$0.isSent }.map(\.name))
    return offered.filter { !received.contains($0) }
  }

  public init() {}
}

// The channels as values for programs.
extension Table {
  static let sentChannels = channels(
    "audio/sent/list", [.whole(0...10_000)],
    "The sent channels for programs: how many there are; then, of as many as fit, the name and the number of "
      + "peers that listen.", areSent: true
  ) {
    [.whole(min($0.listeners, 10_000))]
  } restore: {
    $0.listeners = $1[0].whole
  }

  static let receivedChannels = channels(
    "audio/received/list",
    [ShownChannel.State.parameter, .number(0...1e6, unit: "ms"), .whole(0...Int(Int32.max))],
    "The received channels for programs: how many there are; then, of as many as fit, the name, the state as "
      + "a fixed word, the delay and the number of gaps. audio/list has more values, for all channels.",
    areSent: false
  ) {
    [.word(Int($0.state.rawValue)), .number($0.delayMilliseconds), .whole($0.dropouts)]
  } restore: {
    $0.state = ShownChannel.State(told: $1[0])
    ($0.delayMilliseconds, $0.dropouts) = ($1[1].number, $1[2].whole)
  }

  /// The row of all sent or all received channels: their number, then for each its name and these values. A
  /// channel that did not fit the message is restored without a name.
  private static func channels(
    _ path: String, _ parameters: [Parameter], _ words: String, areSent: Bool,
    read: @escaping @Sendable (ShownChannel) -> [Value],
    restore: @escaping @Sendable (inout ShownChannel, [Value]) -> Void
  ) -> Node {
    let each = [.text(limit: 255)] + parameters
    return .readings(path, [.whole(0...10_000)], each: each, words) {
      let channels = $0.state.audio.channels.filter { $0.isSent == areSent }
      return [.whole(channels.count)]
        + channels.flatMap { [.text(printable($0.name, limit: 255))] + read($0) }
    }.restoring { state, values in
      state.audio.channels.removeAll { $0.isSent == areSent }
      for place in 0..<min(values[0].whole, SurfaceLimits.shownChannels) {
        let told = values.dropFirst(1 + place * each.count).prefix(each.count)
        var channel = ShownChannel(name: told.first?.text ?? "", isSent: areSent)
        if told.count == each.count { restore(&channel, Array(told.dropFirst())) }
        state.audio.channels.append(channel)
      }
    }
  }
}
