// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices
import OSC

// The song as the feed `song` tells it, and as whoever is told takes it: where it is, and where its bars are, if they are not simply those of the
// meter from its beginning. A meter that comes is told ahead, with its line, so that everybody changes there.
extension SurfaceState {
  /// At this moment.
  func songTold(at now: Micros) -> [Argument] {
    let (word, beats): (String, Beats) =
      switch transport {
      case .stopped(let position): ("stopped", position)
      case .waiting(let origin): ("waiting", origin)
      case .rolling(let origin): ("rolling", origin)
      }
    let bars = self.bars
    let song: [Argument] = [.string(word), .float64(beats.value)]
    guard bars != Bars(choices.meter) else { return song }
    let here = ThirtySeconds.before(songBeats(at: now).value)
    let present = song + Self.told(bars.origin(at: here), bars.meter(at: here), beats)
    return here < bars.first ? present + Self.told(bars.first, bars.meter, beats) : present
  }

  private static func told(_ place: Int64, _ meter: Meter, _ start: Beats) -> [Argument] {
    [
      .float64(start.value + ThirtySeconds.beats(place)), .int32(meter.beatsPerBar), .int32(meter.beatType),
    ]
  }

  /// Whatever is no song changes nothing.
  mutating func takeSong(_ arguments: [Argument]) {
    let numbers = arguments.dropFirst().compactMap(\.number)
    guard case .string(let word)? = arguments.first, numbers.count == arguments.count - 1,
      let first = numbers.first, numbers.allSatisfy(\.isFinite)
    else { return }
    switch word {
    case "stopped": transport = .stopped(at: Beats(first))
    case "waiting": transport = .waiting(origin: Beats(first))
    case "rolling": transport = .rolling(origin: Beats(first))
    default: return
    }
    changedBars = nil
    guard let (origin, meter) = Self.bars(arguments.dropFirst(2), behind: first) else { return }
    var bars = Bars(meter, countedFrom: origin)
    if let (line, next) = Self.bars(arguments.dropFirst(5), behind: first) {
      bars.change(to: next, from: line)
    }
    changedBars = bars
  }

  /// A place in the song, and the meter there.
  private static func bars(_ arguments: ArraySlice<Argument>, behind start: Double) -> (Int64, Meter)? {
    let three = arguments.prefix(3)
    guard three.count == 3, let beat = three.first?.number, abs(beat - start) < 1e12,
      let values = try? zip(Meter.parameters, three.dropFirst()).map({ try $0.accept($1) }),
      let meter = try? Meter(values)
    else { return nil }
    return (ThirtySeconds.nearest(to: beat - start, grain: 1), meter)
  }
}

extension SurfaceState {
  /// Another meter of a song that plays comes with a bar line, where the audio thread will have it, too: that is shown at once.
  package mutating func choose(at time: Micros, _ change: (inout SurfaceState) -> Void) {
    var bars = self.bars
    change(&self)
    guard isRolling else { return }
    bars.change(to: choices.meter, at: songBeats(at: time).value)
    changedBars = bars == Bars(choices.meter) ? nil : bars
  }
}
