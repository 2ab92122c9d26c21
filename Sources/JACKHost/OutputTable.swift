// SPDX-License-Identifier: GPL-2.0-or-later
import CJACK
import Choices
import HostSync

/// The user's own outputs as the audio thread has them: handed over whole, and never changed there. [audio]
struct OutputTable: BitwiseCopyable {
  static var limit: Int { OutputSettings.limit }

  /// Counts the tables.
  var number: UInt32 = 0
  /// Behind so many places there is none.
  var used = 0
  var places = InlineArray<32, OutputPlace>(repeating: OutputPlace())
}

/// One of them, or none.
struct OutputPlace: BitwiseCopyable {
  var port: OpaquePointer?
  var slot = OutputSlot(number: 0, revision: 0, settings: OutputSettings(.pulse))

}

/// How each clock among them is doing.
struct OutputFigures: BitwiseCopyable {
  var places = InlineArray<32, ClockFigures>(repeating: ClockFigures())
}

extension AudioCycle {
  /// What the user's own outputs play, each into its port.
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
    // Nobody looks more often than the control thread.
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
