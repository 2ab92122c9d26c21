// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath
public import TactusChoices

/// A request of a controller to the program.
///
/// Relative requests (tap, nudge, half, up) have already become absolute: the surface computes their results,
/// so that two quick presses add up. Numbers are within the ranges of the table.
public enum Command: Hashable, Sendable {
  case choose(Choice, [Value])

  /// Starts on the next bar, on the next beat or at once; nil: as the launch setting says.
  case start(LaunchMoment?)
  case stop
  /// Starts the transport if it is stopped; stops it if it rolls or waits for a launch.
  case toggle
  case rewind
  case locate(Place)
  case rolling(Bool)

  case tempo(Tempo)
  /// Changes the session's tempo while the user holds a bend. When the bend ends, the tempo returns to
  /// `below`, the tempo without the bend.
  case bentTempo(Tempo, below: Tempo)
  /// Moves our outputs ahead of the session or behind it, by hand.
  case bend(BendSettings)
  /// Moves the session's beat 0 to this moment, as far as the session allows.
  case align
  /// True: tactus becomes timebase master if there is none. False: tactus stops being timebase master.
  case timebase(Bool)
  /// Makes tactus timebase master in place of any other client.
  case takeover

  /// Starts or stops sending or receiving a channel.
  case channel(AudioChannelOrder, isOn: Bool)

  /// Sets a correction for a room that we call: the time by which its beat is earlier than we
  /// measure.
  case roomOffset(String, Micros)

  /// Adds one of the user's own outputs, or changes the settings of an existing one.
  case output(NamedOutput)
  case removeOutput(String)

  /// Adds a song to the set list, or changes the commands of an existing one.
  case song(SetSong)
  case removeSong(String)

  /// Writes the present values to the configuration file; `replacing`: even over a file that the user wrote.
  case save(replacing: Bool)

  case quit
}

extension Command {
  public var switchesClickOn: Bool {
    if case .choose(let choice, let values) = self { choice.path == "click" && values[0].isOn } else { false }
  }

  /// Whether the command can add or remove outputs.
  var isOfOutputs: Bool {
    switch self {
    case .output, .removeOutput: true
    case .choose, .start, .stop, .toggle, .rewind, .locate, .rolling, .tempo, .bentTempo, .bend, .align,
      .timebase,
      .takeover, .channel, .roomOffset, .song, .removeSong, .save, .quit:
      false
    }
  }
}

/// A channel of Link Audio as the user writes it in `--send` or `--receive`. To stop sending, the channel's
/// name is enough.
public enum AudioChannelOrder: Hashable, Sendable {
  case send(String)
  case receive(String)
}

public enum Place: Hashable, Sendable, BitwiseCopyable {
  /// Beats of the song from its start.
  case beat(Double)
  /// A bar of the song; the first bar is 1.
  case bar(Int)
  case seconds(Double)
}
