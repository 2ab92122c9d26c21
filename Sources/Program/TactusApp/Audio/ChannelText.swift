// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusJACK
import TactusSurface

/// A channel to send, as `--send` describes it: its name, and where its sound comes from.
struct SentText: Equatable {
  let name: String
  /// Full names of JACK ports; a single one makes the channel mono; none: the user connects the inputs.
  let ports: [String]
  let isMono: Bool

  /// A text such as "Drums", "Vocals=mono", "Bass=ardour:Bass/audio_out 1" or "Drums=ardour:Drums/audio_out
  /// 1,ardour:Drums/audio_out 2".
  init?(_ text: String) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard let name = parts.first, (1...64).contains(name.utf8.count), text.isPrintable,
      text.utf8.count <= AudioChannelText.longest
    else { return nil }
    self.name = name
    guard parts.count > 1, parts[1] != "mono" else {
      ports = []
      isMono = parts.count > 1
      return
    }
    ports = parts[1].split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    isMono = ports.count == 1
    guard (1...2).contains(ports.count), ports.allSatisfy({ $0.contains(":") && !$0.hasPrefix(":") }) else {
      return nil
    }
  }

  static let allowed = ValueRule("a name, alone or as in Bass=mono, Bass=PORT or Drums=PORT,PORT") {
    SentText($0) != nil
  }
}

/// Channels to receive, as `--receive` describes them.
struct ReceivedText: Equatable {
  let text: String
  /// The names of peer and channel, PEER/CHANNEL, in which `*` stands for any text.
  let name: String
  /// The channel's own delay; nil: the delay of `--link-audio-delay`.
  let delay: AudioDelay?

  /// A text such as "Studio/Drums", "Studio/*" or "Studio/Drums=1bar".
  init?(_ text: String) {
    guard text.isPrintable, (3...AudioChannelText.longest).contains(text.utf8.count) else { return nil }
    self.text = text
    // A channel's name may itself contain "=". The text after the last "=" is the delay if it parses as a
    // delay. If it only looks like a delay, the whole text is refused; otherwise it belongs to the name.
    let parts = text.split(separator: "=", omittingEmptySubsequences: false)
    let last = parts.count > 1 ? parts[parts.count - 1] : ""
    delay = try? AudioDelay([.text(String(last))])
    let isMeant = last.drop { "+-".contains($0) }.first?.isNumber ?? false
    guard delay != nil || !isMeant else { return nil }
    name = delay == nil ? text : parts.dropLast().joined(separator: "=")
    guard name.contains("/") else { return nil }
  }

  /// Whether the text names a single channel, which no peer need offer now.
  var isExact: Bool { !name.contains("*") }

  func matches(_ channel: String) -> Bool { NamePattern(name).matches(channel) }

  static let allowed = ValueRule(
    "PEER/CHANNEL, where * stands for any text, alone or with a delay as in PEER/CHANNEL=1bar (\(AudioDelay.allowed))"
  ) { ReceivedText($0) != nil }
}

extension SurfaceState {
  /// Adds or removes a channel of Link Audio.
  mutating func change(_ order: AudioChannelOrder, isOn: Bool) throws(Refusal) {
    switch order {
    case .send(let text):
      guard let sent = SentText(text) else { throw Refusal(.range, SentText.allowed.words) }
      lists.sends = try changed(lists.sends, text, isOn: isOn) { SentText($0)?.name == sent.name }
    case .receive(let text):
      guard let received = ReceivedText(text) else { throw Refusal(.range, ReceivedText.allowed.words) }
      lists.receives = try changed(lists.receives, text, isOn: isOn) {
        ReceivedText($0)?.name == received.name
      }
    }
  }

  private func changed(
    _ lines: [String], _ line: String, isOn: Bool, isSame: (String) -> Bool
  ) throws(Refusal) -> [String] {
    guard isOn || lines.contains(where: isSame) else {
      throw Refusal(.notNow, "there is no such channel")
    }
    let others = lines.filter { !isSame($0) }
    guard isOn else { return others }
    guard others.count < AudioChannelPorts.limit else {
      throw Refusal(.notNow, "at most \(AudioChannelPorts.limit) channels are possible")
    }
    return others + [line]
  }
}

extension String {
  /// This text if it is free, otherwise with the separator and the first free number from 2 on.
  func unique(before separator: String, isTaken: (String) -> Bool) -> String {
    var (free, number) = (self, 1)
    while isTaken(free) {
      number += 1
      free = "\(self)\(separator)\(number)"
    }
    return free
  }

  /// The text as part of a port's name. A port's name is short, a colon ends the client's name in it, and
  /// some programs take a slash for a folder.
  var forPort: String {
    var text = ""
    for character in self {
      let isPlain = character.isLetter || character.isNumber || "-.+".contains(character)
      text.append(isPlain ? character : "_")
      if text.utf8.count > 60 { break }
    }
    return text
  }
}

extension Configuration {
  static let audioOptions: [Option<Configuration>] = [
    Option(
      "send", in: .audio, .value("NAME[=PORT,PORT]", SentText.allowed, \.sends), isRemembered: true,
      help:
        "With --link-audio, offer a channel to the session's peers. Its sound comes in at the ports "
        + "send_NAME_l and send_NAME_r. tactus keeps them connected to the ports that you name behind =. "
        + "With one such port, or with NAME=mono, the channel is mono. Can be repeated."),
    Option(
      "receive", in: .audio, .value("PEER/CHANNEL[=DELAY]", ReceivedText.allowed, \.receives),
      isRemembered: true,
      help:
        "With --link-audio, play this channel of a peer at ports of its own; * stands for any text: */* "
        + "is every channel, up to \(AudioChannelPorts.limit). =DELAY gives it a delay of its own instead "
        + "of --link-audio-delay's. Can be repeated."
    ),
  ]
}

extension AudioDelay {
  /// Seconds of audio that a lane must hold for this delay. They exceed what the delay takes at the present
  /// tempo, because the tempo may change.
  func room(_ state: SurfaceState) -> Double {
    let beat = Double(state.tempo.clamped.microsPerBeat) / 1e6
    let seconds =
      switch self {
      case .auto: 0.5
      case .time(let micros): Double(micros.count) / 1e6
      case .beats(let count): Double(count) * beat
      case .bars(let count): Double(count) * state.choices.meter.length.value * beat
      }
    // Round up to a power of two. Otherwise each change of the tempo would need a new lane.
    var room = 1.0
    while room < seconds * 1.2, room < 60 { room *= 2 }
    return room
  }
}
