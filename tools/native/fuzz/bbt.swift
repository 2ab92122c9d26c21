// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusSync

// libFuzzer calls this with each mutated series of bars and beats, as a foreign timebase master shows and
// other clients request them, under the address sanitizer. `tools/bench fuzz` builds it.

@c(LLVMFuzzerTestOneInput)
public func fuzz(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  var input = Bytes(UnsafeRawBufferPointer(start: bytes, count: count))
  let stage = Stage(&input)
  stage.settings.lead = [.auto, .host, .link, .midi][Int(input.byte() % 4)]
  while !input.isEmpty {
    stage.transport.state = [.rolling, .stopped, .starting, .rolling][Int(input.byte() % 4)]
    if input.chance(4) { stage.transport.frame = input.number() }
    stage.transport.bbtAge = input.chance(8) ? input.number() : 0
    stage.transport.bbt = shown(&input, after: stage.transport.bbt)
    stage.play(&input, requested: input.chance(4) ? shown(&input, after: nil) : nil)
    guard let bbt = stage.transport.bbt, let beats = bbt.beats else { continue }
    // An accepted position must stay the same position when it is converted to bars and beats and back.
    precondition(beats.isFinite && beats >= 0, "a place that is none: \(beats)")
    let again = BBT(
      song: Beats(beats), meter: Meter(beatsPerBar: 4), beatsPerMinute: bbt.beatsPerMinute)
    precondition(
      beats > 8e9 || abs((again.beats ?? -1) - beats) < 0.001, "read, shown and read again it differs")
  }
  return 0
}

/// The position that the timebase master shows in the next cycle: usually a little later than the last
/// position, with some error.
private func shown(_ input: inout Bytes, after last: BBT?) -> BBT? {
  switch input.byte() % 8 {
  case 0: return nil
  case 1:
    return BBT(
      bar: input.number(), beat: input.number(), tick: input.number(), barStartTick: input.double(),
      beatsPerBar: Float(input.double()), beatType: Float(input.double()), ticksPerBeat: input.double(),
      beatsPerMinute: input.double())
  default: break
  }
  var next =
    last
    ?? BBT(
      bar: 1, beat: 1, tick: 0, barStartTick: 0, beatsPerBar: 4, beatType: 4, ticksPerBeat: 1920,
      beatsPerMinute: 120)
  next.tick = next.tick &+ Int32(input.byte())
  switch input.byte() % 16 {
  case 0: next.bar = input.number()
  case 1: next.beat = input.number()
  case 2: next.tick = input.number()
  case 3: next.beatsPerBar = Float(input.double())
  case 4: next.ticksPerBeat = input.double()
  case 5: next.beatsPerMinute = input.double()
  case 8: next.beatType = [1, 2, 8, 16, 32, 4, 8, Float(input.double())][Int(input.byte() % 8)]
  case 6: next.barStartTick = input.double()
  case 7: next.beatsPerMinute += Double(Int8(truncatingIfNeeded: input.number() as Int16)) / 16
  default: break
  }
  return next
}
