// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK
import TactusChoices
import TactusSync

/// The user's outputs as the audio thread sees them. The control thread replaces the table as a whole, and
/// the audio thread never changes it. [audio]
struct OutputTable: BitwiseCopyable {
  static var limit: Int { OutputSettings.limit }

  /// Each published table has a new number.
  var number: UInt32 = 0
  /// The index from which on all places of the table are empty.
  var used = 0
  var places = InlineArray<32, OutputPlace>(repeating: OutputPlace())
}

/// A place in the table, which may be empty.
struct OutputPlace: BitwiseCopyable {
  var port: OpaquePointer?
  var slot = OutputSlot(number: 0, revision: 0, settings: OutputSettings(.pulse))
}

/// The figures of each MIDI clock among the user's outputs, by its place.
struct OutputFigures: BitwiseCopyable {
  var places = InlineArray<32, ClockFigures>(repeating: ClockFigures())
}

extension AudioCycle {
  /// Renders the user's outputs, each into its port.
  mutating func playOutputs(_ frames: UInt32) {
    if let table = source.shared.pointee.outputs.readIfNew() {
      own = table
      source.shared.pointee.outputsSeen.store(table.number, ordering: .releasing)
    }
    guard own.used > 0 else { return }
    var place = 0
    while place < own.used {
      play(at: place, frames)
      place += 1
    }
    figuresAge &+= frames
    // The control thread reads the figures every 20 ms at most, so publish them no more often.
    if figuresAge >= source.shared.pointee.board.sampleRate / 50 { tellFigures() }
  }

  private mutating func tellFigures() {
    figuresAge = 0
    var place = 0
    while place < own.used {
      figures.places[place] = sync.clockFigures(at: place)
      place += 1
    }
    source.shared.pointee.figures.publish(figures)
  }

  private mutating func play(at place: Int, _ frames: UInt32) {
    let port = own.places[place].port
    guard port != nil else { return }
    if own.places[place].slot.settings.kind.isMIDI {
      sync.play(&own.places[place].slot, at: place, into: .none, &ownEvents)
      countLost(source.write(&ownEvents, to: port, frames))
    } else {
      sync.play(&own.places[place].slot, at: place, into: source.audio(port, frames), &ownEvents)
    }
  }
}
