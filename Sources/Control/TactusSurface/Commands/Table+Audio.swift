// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusOSC

// Link Audio: channels of sound between the session's peers.
extension Table {
  static let audio: [Node] =
    Node.rows(
      of: Choice(
        "link/audio", \.audio.isOn,
        "Link Audio: send channels of sound to the session's peers (--send) and play theirs (--receive).",
        in: .audio, isRemembered: true),
      Choice(
        "link/name", \.audio.peerName,
        "The name of this computer that the session's peers show beside its channels. auto: made from "
          + "tactus's name in JACK and this computer's name.",
        within: .text(limit: ChosenName.longest), in: .audio, written: ("auto|NAME", ChosenName.allowed),
        isRemembered: true),
      Choice(
        "link/audio/delay", \.audio.delay,
        "The delay of received channels: as short as the network allows (auto), or always this many "
          + "milliseconds, beats or bars.",
        within: .text(limit: 16), in: .audio, written: ("auto|MS|Nbeats|Nbars", AudioDelay.allowed),
        isRemembered: true),
      Choice(
        "link/audio/send/offset", \.audio.sendOffset,
        "Corrects JACK's latency for sent channels: their sound was played this much earlier than JACK "
          + "says.",
        within: .number(-500...500, unit: "ms"), in: .audio, isRemembered: true),
      Choice(
        "link/audio/receive/offset", \.audio.receiveOffset,
        "Corrects JACK's latency for received channels: their sound is heard this much later than JACK "
          + "says, so tactus sends it to the port this much earlier.",
        within: .number(-500...500, unit: "ms"), in: .audio, isRemembered: true))
    + [
      // Only this machine may use this row: otherwise any sender on the network could listen to the machine's
      // microphones.
      .ofThisMachine(
        "audio/send",
        "Offers a channel to the peers, as --send does: NAME, NAME=PORT or NAME=PORT,PORT. Only this "
          + "machine may send it."
      ) { .channel(.send($0), isOn: true) },
      .ofThisMachine(
        "audio/send/end", "Removes the sent channel of this NAME. Only this machine may send it."
      ) {
        .channel(.send($0), isOn: false)
      },
      .order(
        "audio/receive", [.text(limit: AudioChannelText.longest)],
        "Plays a channel, as --receive does: PEER/CHANNEL, where * stands for any text, and =DELAY gives "
          + "it a delay of its own, as in Studio/Drums=1bar. Send the same channel again to change its delay."
      ) { values, _ in .command(.channel(.receive(values[0].text), isOn: true)) },
      .order(
        "audio/receive/end", [.text(limit: AudioChannelText.longest)],
        "Stops playing the channels that were received by this name."
      ) { values, _ in .command(.channel(.receive(values[0].text), isOn: false)) },
      .label("audio/offered", "The channels that can be received, each as PEER/CHANNEL.") {
        ShownAudio.list($0.state.audio.offered)
      },
      .label("audio/sent", "The channels that are sent, and to how many peers.") {
        $0.state.audio.sent
      },
      .label("audio/received", "The channels that are received, with the state of each.") {
        $0.state.audio.received
      },
      .count("audio/sent/count", "", "How many channels are sent.") {
        $0.state.audio.channels.count(where: \.isSent)
      },
      .count("audio/received/count", "", "How many channels are received.") {
        $0.state.audio.channels.count { !$0.isSent }
      },
      sentChannels, receivedChannels,
      .count("audio/dropouts", "", "Gaps in received channels that were too long to be filled in.") {
        $0.state.audio.channels.reduce(0) { $0 + $1.dropouts }
      },
      .count("audio/lost", "", "Pieces of received channels that did not arrive.") {
        $0.state.audio.channels.reduce(0) { $0 + $1.lost }
      },
      .count("audio/late", "", "Pieces of received channels that arrived too late.") {
        $0.state.audio.channels.reduce(0) { $0 + $1.late }
      },
      .label(
        "audio/thread",
        "The priority of Link Audio's thread: in real time; ordinary, if this user is not allowed real "
          + "time; slowed, while more packets come in than its share of the processor allows."
      ) { $0.state.audio.thread.words },
      .state(
        "audio/thread/kind", "The priority of Link Audio's thread as a fixed word for programs.",
        \.audio.thread),
      .verb(
        .audioList, [.whole(1...100)],
        "Asks for the list of channels, \(SurfaceMachine.channelsPerPage) on a page: the first page, or "
          + "the page of this number. tactus answers with audio/page, then with an audio/channel for each "
          + "channel."),
      .answer(
        "audio/page", [.whole(1...100), .whole(1...100), .whole(0...10_000)],
        "Begins the answer to audio/list: the page's number, the number of pages, and the number of "
          + "channels."
      ),
      .answer(
        "audio/channel",
        [
          .text(limit: 255), .word(["sent", "received", "offered"]), .text(limit: 64),
          .number(0...1e6, unit: "ms"),
          .number(0...1e6, unit: "ms"), .number(0...1e6, unit: "ms"), .number(-1e6...1e6, unit: "ms"),
          .number(-200...20, unit: "dB"), .whole(0...1_000_000, unit: "Hz"),
          .whole(0...Int(Int32.max)), .whole(0...Int(Int32.max)), .whole(0...Int(Int32.max)),
          .text(limit: AudioChannelText.longest),
        ],
        "A channel: its name; sent, received, or offered (not received); its state; delay, buffer and "
          + "jitter; how long after its beat sound arrives; level; sample rate; dropouts, lost pieces and "
          + "late pieces; and the name by which it was received, for audio/receive/end."),
    ]
}

extension Node {
  fileprivate static func ofThisMachine(
    _ path: String, _ words: String, _ command: @escaping @Sendable (String) -> Command
  ) -> Node {
    var row = order(path, [.text(limit: AudioChannelText.longest)], words) { values, _ in
      .command(command(values[0].text))
    }
    row.reach = .thisMachine
    return row
  }
}

/// The text form of a channel in `--send` and `--receive`.
public enum AudioChannelText {
  /// The length limit of the text in bytes, with room for two JACK ports and a name.
  public static var longest: Int { 255 }
}

extension AudioDelay: Choosable {
  package static let allowed =
    "auto, milliseconds up to \(shortest(longest.milliseconds)), 1 to \(mostBeats) beats as in 4beats, or 1 to \(mostBars) bars as in 2bars"

  public var values: [Value]? { [.text(word)] }

  public var word: String {
    switch self {
    case .auto: "auto"
    case .time(let micros): shortest(micros.milliseconds)
    case .beats(let count): count == 1 ? "1beat" : "\(count)beats"
    case .bars(let count): count == 1 ? "1bar" : "\(count)bars"
    }
  }

  public init(_ values: [Value]) throws(Refusal) {
    let text = values[0].text
    func count(before unit: String, most: Int32) -> Int32? {
      let units = [unit, unit + "s"]
      guard let found = units.first(where: { text.hasSuffix($0) }),
        let number = Int32(text.dropLast(found.count)),
        (1...most).contains(number)
      else { return nil }
      return number
    }
    if text == "auto" {
      self = .auto
    } else if let beats = count(before: "beat", most: Self.mostBeats) {
      self = .beats(beats)
    } else if let bars = count(before: "bar", most: Self.mostBars) {
      self = .bars(bars)
    } else if let milliseconds = Double(text),
      text.utf8.allSatisfy({ (0x2E...0x39).contains($0) && $0 != 0x2F }),
      (0...Self.longest.milliseconds).contains(milliseconds)
    {
      self = .time(.milliseconds(milliseconds))
    } else {
      throw .range(Self.allowed)
    }
  }
}
