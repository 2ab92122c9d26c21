// SPDX-License-Identifier: GPL-2.0-or-later
@preconcurrency import Glibc
import Link
import Reference

/// Compares our library and the reference library in turn, so that disturbances of the machine affect both.
@main
struct LinkBench {
  static func main() {
    let isQuick = CommandLine.arguments.contains("--quick")
    let ours = Link(tempo: 97)
    let theirs = reference_new(97)
    ours.isEnabled = true
    reference_enable(theirs, 1)
    guard wait({ ours.peerCount == 1 && reference_peers(theirs) == 1 }) else {
      fputs("bench: the two libraries do not find each other\n", stderr)
      exit(1)
    }
    let audio = audioTurns(ours, theirs, rounds: isQuick ? 41 : 201)
    print(
      "capture and beat on the audio thread, ns, median (least...most of \(audio.ours.count) rounds of 10000):"
    )
    print("  ours       \(audio.ours.summary)")
    print("  reference  \(audio.theirs.summary)")
    print("in one round: ours \(audio.ourSins), reference \(audio.theirSins)")
    print(
      """
      {"audio_ns": {"ours": \(audio.ours.median), "reference": \(audio.theirs.median)}, \
      "allocations_and_locks": {"ours": \(audio.ourSins.total), "reference": \(audio.theirSins.total)}}
      """)
    ours.isEnabled = false
    reference_delete(theirs)
    // Fails only if our library allocates or locks: a single allocation is too many, but small differences in
    // speed do not matter.
    exit(audio.ourSins.total == 0 ? 0 : 1)
  }

  static func audioTurns(
    _ ours: Link, _ theirs: OpaquePointer, rounds: Int
  ) -> (ours: [Double], theirs: [Double], ourSins: Sins, theirSins: Sins) {
    guard var audio = ours.takeAudio() else { fatalError("another handle exists") }
    let turns = 10_000
    var result: (ours: [Double], theirs: [Double]) = ([], [])
    var sum = ourTurns(&audio, turns, Link.now) + reference_audio_turns(theirs, Int32(turns), 0)
    for _ in 0..<rounds {
      let start = Link.now
      let began = nanoseconds()
      sum += ourTurns(&audio, turns, start)
      let between = nanoseconds()
      sum += reference_audio_turns(theirs, Int32(turns), start.microseconds)
      let ended = nanoseconds()
      result.ours.append(Double(between - began) / Double(turns))
      result.theirs.append(Double(ended - between) / Double(turns))
    }
    watch_begin()
    sum += ourTurns(&audio, turns, Link.Instant(microseconds: 0))
    let ourSins = Sins(counted: watch_end())
    watch_begin()
    sum += reference_audio_turns(theirs, Int32(turns), 0)
    let theirSins = Sins(counted: watch_end())
    if sum == 0.5 { print("") }
    return (result.ours, result.theirs, ourSins, theirSins)
  }

  /// The calls to Link that an audio callback makes in each cycle.
  @_noLocks @_noAllocation
  static func ourTurns(_ audio: inout Link.AudioHandle, _ turns: Int, _ start: Link.Instant) -> Double {
    var sum = 0.0
    for turn in 0..<turns {
      sum += audio.capture().beat(at: start.advanced(microseconds: Int64(turn)), quantum: 4)
    }
    return sum
  }

  static func wait(_ condition: () -> Bool) -> Bool {
    let end = Link.now + .seconds(20)
    while !condition() {
      if Link.now > end { return false }
      usleep(100)
    }
    return true
  }

  static func nanoseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}

/// Violations of real time that were counted: allocations in the upper half, locks in the lower.
struct Sins: CustomStringConvertible {
  let counted: UInt64
  var allocations: UInt64 { counted >> 32 }
  var locks: UInt64 { counted & 0xffff_ffff }
  var total: UInt64 { allocations + locks }
  var description: String { "\(allocations) allocations and \(locks) locks" }
}

extension [Double] {
  var median: Double { isEmpty ? .nan : sorted()[count / 2] }

  var summary: String {
    let texts = [median, self.min() ?? .nan, self.max() ?? .nan].map { "\(($0 * 10).rounded() / 10)" }
    return "\(texts[0]) (\(texts[1])...\(texts[2]))"
  }
}
