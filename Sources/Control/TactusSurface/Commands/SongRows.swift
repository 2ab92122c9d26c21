// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusOSC

// The arguments of the feed `song`: the song's position, and its bars if the meter has changed within the
// song. If a new meter waits for its bar line, that bar line and the meter are sent in advance, so that all
// receivers change there.
extension SurfaceState {
  /// The arguments of `song` at this moment.
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
    let present = song + Self.arguments(bars.origin(at: here), bars.meter(at: here), beats)
    return here < bars.first ? present + Self.arguments(bars.first, bars.meter, beats) : present
  }

  private static func arguments(_ place: Int64, _ meter: Meter, _ start: Beats) -> [Argument] {
    [
      .float64(start.value + ThirtySeconds.beats(place)), .int32(meter.beatsPerBar), .int32(meter.beatType),
    ]
  }

  /// Takes over the arguments of `song`; ignores malformed ones.
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

  /// Reads from three arguments the bar line at which a meter begins, and the meter; nil: they are malformed.
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
  /// Changes choices. For a rolling song, a new meter begins at a bar line, which is shown at once; the audio
  /// thread uses the same bar line.
  package mutating func choose(at time: Micros, _ change: (inout SurfaceState) -> Void) {
    var bars = self.bars
    change(&self)
    guard isRolling else { return }
    bars.change(to: choices.meter, at: songBeats(at: time).value)
    changedBars = bars == Bars(choices.meter) ? nil : bars
  }
}
