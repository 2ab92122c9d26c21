// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
public import Choices

/// What a controller can ask of the program.
///
/// Relative wishes (tap, nudge, half, up) have become absolute here: the surface does that arithmetic, so that
/// two quick presses add up. Numbers are within the ranges of the table.
public enum Command: Hashable, Sendable {
  case choose(Choice, [Value])

  /// nil: as the launch setting says.
  case start(LaunchMoment?)
  case stop
  /// Start when stopped; stop when rolling or waiting for the launch.
  case toggle
  case rewind
  case locate(Place)
  case rolling(Bool)

  case tempo(Tempo)
  /// A hand holds the session faster or slower than this; the tempo goes back to `below` when the hand lets go.
  case bentTempo(Tempo, below: Tempo)
  /// Our outputs ahead of the session or behind it, by hand.
  case bend(BendSettings)
  /// Put beat 0 here, as far as the session allows.
  case align
  /// true: become timebase master if nobody is; false: give it up.
  case timebase(Bool)
  /// Become timebase master, in place of any other.
  case takeover

  /// Send or receive a channel, or no longer.
  case channel(AudioChannelOrder, isOn: Bool)

  /// How much earlier than measured a room is that is called.
  case roomOffset(String, Micros)

  /// One of the user's own outputs: a new one, or one that is there with other settings.
  case output(NamedOutput)
  case removeOutput(String)

  /// A song of the set list: a new one, or one that is there with other commands.
  case song(SetSong)
  case removeSong(String)

  /// What holds, into the configuration file; `replacing`: in place of one that somebody wrote.
  case save(replacing: Bool)

  case quit
}

extension Command {
  /// Whether outputs may come or go by it.
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

/// A channel of Link Audio as its user writes it: a line of `--send` or `--receive`. To end a sent one its name is enough.
public enum AudioChannelOrder: Hashable, Sendable {
  case send(String)
  case receive(String)
}

public enum Place: Hashable, Sendable, BitwiseCopyable {
  /// Song beats from the start.
  case beat(Double)
  /// The first bar is 1.
  case bar(Int)
  case seconds(Double)
}
