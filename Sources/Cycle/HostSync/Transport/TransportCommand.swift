// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
public import TactusChoices

/// A command for JACK's transport, from a user or from the session.
public enum TransportCommand: Equatable, Sendable {
  case play
  case stop
  /// Stops on the song's next bar line or the session's next beat; at once if asked again or if nothing
  /// rolls.
  case stopOn(bar: Bool)
  case locate(frame: UInt32)
  /// A locate that keeps the session's grid while the transport rolls: frame and song beat of the place, and
  /// the number of beats on whose grid it may be heard (0: at once).
  case jump(frame: UInt32, beat: Double, step: Double)
  /// Sends a transport that has stopped where `Settings.stopPlace` says.
  case goBack
}

/// Commands that wait behind a stop, in their order. If too many wait, the oldest are dropped: the last ones
/// decide the result.
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
  /// The song's beat at the frame; JACK shows it to all clients until the timebase master has written one.
  case locate(frame: UInt32, beat: Double)
  /// Publish the relocation to the audio thread, then locate.
  case relocate(Relocation)
  /// Locate for the audio thread, if the transport is still where the audio thread saw it.
  case fulfil(TransportWish)
  /// Ask for the start again, if the transport is still starting.
  case holdOn
  /// Set JACK's limit for slow clients; nil: the usual one.
  case limit(Micros?)
  /// Set the limit again, because another client has changed it.
  case insistOnLimit
}

extension Settings {
  /// A stop waits for the beat or bar that the user chose. A stop by another JACK client takes effect at
  /// once.
  public var stopCommand: TransportCommand {
    switch stop {
    case .now: .stop
    case .beat: .stopOn(bar: false)
    case .bar: .stopOn(bar: true)
    }
  }
}

/// The server's part in the transport.
public struct TransportServer: Sendable {
  public var sampleRate: UInt32
  /// The limit for slow clients before any client has set it.
  public var usualLimit: Micros
  /// The longest time that the server holds a start; nil: as long as a client asks.
  public var longestHold: Micros?
  /// A stopped transport rolls from the frame that it shows.
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
