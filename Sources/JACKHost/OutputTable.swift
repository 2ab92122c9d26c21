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
  var slot = OutputSlot(number: 0, settings: OutputSettings(.pulse))

  var isClock: Bool { if case .clock = slot.settings.kind { true } else { false } }
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
    source.shared.pointee.figures.publish(figures)
  }

  private mutating func play(at place: Int, _ frames: UInt32) {
    let port = own.places[place].port
    guard port != nil else { return }
    if own.places[place].isClock {
      sync.play(own.places[place].slot, at: place, into: .none, &ownEvents)
      countLost(source.write(ownEvents, to: port, frames))
      figures.places[place] = sync.clockFigures(at: place)
    } else {
      sync.play(own.places[place].slot, at: place, into: source.audio(port, frames), &ownEvents)
    }
  }
}
