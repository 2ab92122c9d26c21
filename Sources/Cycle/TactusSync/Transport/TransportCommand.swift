// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath
public import TactusChoices

/// A command for JACK's transport, from a user or from the session.
public enum TransportCommand: Equatable, Sendable {
  case play
  case stop
  /// A stop on the song's next bar line or on the session's next beat. The stop comes at once if the command
  /// is repeated, or if the transport does not roll.
  case stopOn(bar: Bool)
  case locate(frame: UInt32)
  /// A locate that keeps the session's grid while the transport rolls. `frame` and `beat` are the target. The
  /// locate comes on a grid of `step` beats (0: at once).
  case jump(frame: UInt32, beat: Double, step: Double)
  /// Sends a stopped transport to the place that `Settings.stopPlace` names.
  case goBack
  /// Sends the rolling transport to the song's line on which the song's beat `beat` is at the session's beat
  /// `sessionBeat`. If that beat lies ahead, the song joins the line there; otherwise it joins the line on
  /// the grid of a start. Does nothing if nothing rolls, or if another client has the bars.
  case follow(beat: Double, sessionBeat: Double)
}

/// The commands that wait until JACK has stopped, in their order. If too many commands wait, the oldest are
/// dropped, because the last commands decide the result. The array has a fixed size, because HostSync must
/// not allocate memory.
struct HeldCommands: Sendable {
  private var ring = InlineArray<64, TransportCommand>(repeating: .stop)
  private var count = 0

  var places: Range<Int> { max(0, count - ring.count)..<count }

  subscript(place: Int) -> TransportCommand { ring[place % ring.count] }

  mutating func append(_ command: TransportCommand) {
    ring[count % ring.count] = command
    count += 1
  }
}

/// A request to JACK. The control thread carries it out at once.
public enum TransportAction: Sendable {
  case play
  case stop
  /// Locate to the frame. JACK shows `beat`, the song's beat at that frame, to all clients until the timebase
  /// master has written its own position.
  case locate(frame: UInt32, beat: Double)
  /// Publish the relocation to the audio thread, then locate.
  case relocate(Relocation)
  /// Make a locate that the audio thread wants, if the transport is still at the frame at which the audio
  /// thread saw it.
  case locateIfOpen(LocateAction)
  /// Restart the server's timeout for a held start, if the transport is still starting.
  case holdOn
  /// Set JACK's timeout for slow clients; nil: the usual timeout.
  case limit(Micros?)
  /// Set JACK's timeout for slow clients again, because another client has changed it.
  case insistOnLimit
}

extension Settings {
  /// The command for a stop that waits for the beat or bar that the user chose. Only stops by tactus wait; a
  /// stop by another JACK client takes effect at once.
  public var stopCommand: TransportCommand {
    switch stop {
    case .now: .stop
    case .beat: .stopOn(bar: false)
    case .bar: .stopOn(bar: true)
    }
  }
}

/// The properties of the server that matter for the transport.
public struct TransportServer: Sendable {
  public var sampleRate: UInt32
  /// The timeout for slow clients before any client has set it.
  public var usualLimit: Micros
  /// The longest time for which the server holds a start; nil: the server holds it as long as a client asks.
  public var longestHold: Micros?
  /// Whether a stopped transport rolls from the frame that it shows.
  public var rollsFromWhereItStands: Bool

  public init(
    sampleRate: UInt32 = 48_000, usualLimit: Micros = Micros(10_000_000), longestHold: Micros? = nil,
    rollsFromWhereItStands: Bool = true
  ) {
    self.sampleRate = max(1, sampleRate)
    self.usualLimit = usualLimit
    self.longestHold = longestHold
    self.rollsFromWhereItStands = rollsFromWhereItStands
  }
}
