// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport
import Testing

/// The clicks of both programs in a period of time.
struct Heard {
  let ours, theirs: [Onset]
  /// Whether all cycles were heard in this time. If so, a missing click is a fault of the program.
  let isWhole: Bool

  static func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    return sorted.isEmpty ? .nan : (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
  }

  /// The tempo that was heard, in BPM, from the median distance of neighbouring clicks.
  static func tempo(of onsets: [Onset]) -> Double {
    // Two successive onsets may be several beats apart if a click between them is missing, so take the
    // median.
    let pairs = zip(onsets, onsets.dropFirst()).filter { $0.isSure && $1.isSure }
    return 60e6 / median(pairs.map { $1.heard - $0.heard })
  }

  /// The distance of each of our clicks from LinkHut's nearest click, in microseconds. It is positive if our
  /// click is later.
  var differences: [Double] {
    ours.filter(\.isSure).compactMap { mine in
      theirs.filter(\.isSure).map { mine.heard - $0.heard }.min { abs($0) < abs($1) }
    }
  }

  /// The distances between our successive clicks, in beats of the reference peer; only those that differ
  /// from one beat.
  var gaps: [Double] {
    zip(ours, ours.dropFirst()).filter { $0.isSure && $1.isSure }.map { $1.beat - $0.beat }
      .filter { abs($0 - 1) > 0.25 }
  }
}

extension [Double] {
  /// The spread as text, such as "median 12 us (-3 to 20, n=17)".
  var spread: String {
    guard let least = self.min(), let most = self.max() else { return "nothing heard" }
    return "median \(Heard.median(self).rounded0) us (\(least.rounded0) to \(most.rounded0), n=\(count))"
  }
}

extension Double {
  var rounded0: String { isFinite ? "\(Int(self.rounded()))" : "\(self)" }

  func rounded(places: Int) -> String {
    guard isFinite else { return "\(self)" }
    var scale = 1.0
    for _ in 0..<places { scale *= 10 }
    return "\((self * scale).rounded() / scale)"
  }
}

extension Conformance {
  /// The tolerance of the test plan, in microseconds.
  static let tolerance = 3000.0
  /// How many stretches of time the test listens to at most. On a busy machine each of the three programs
  /// (ours, LinkHut and the reference peer) is wrong for a while: LinkHut times its sound by its callbacks,
  /// so after a lost cycle it is off by up to 80 ms for seconds; and a peer that was delayed during its
  /// measurement is off until it measures again. So two of the three must agree before the third is blamed.
  /// If no two agree, the test listens to another stretch.
  static let stretches = 8

  private enum Verdict { case inTime, weAreOff, linkHutIsOff, nobodyKnows }

  private func verdict(_ heard: Heard, tempo: Double) -> Verdict {
    func isOff(_ errors: [Double]) -> Bool { !(abs(Heard.median(errors)) < Self.tolerance) }
    let (ours, theirs) = (heard.ours.filter(\.isSure), heard.theirs.filter(\.isSure))
    guard ours.count >= 3, theirs.count >= 3 else { return heard.isWhole ? .weAreOff : .nobodyKnows }
    let wrongTempo = abs(Heard.tempo(of: heard.ours) - tempo) > 0.01 * tempo
    if heard.isWhole, wrongTempo || !heard.gaps.isEmpty { return .weAreOff }
    switch (isOff(ours.map(\.error)), isOff(theirs.map(\.error)), isOff(heard.differences)) {
    case (false, false, false): return wrongTempo ? .nobodyKnows : .inTime
    case (true, false, true): return .weAreOff
    case (false, true, true): return wrongTempo ? .nobodyKnows : .linkHutIsOff
    default: return .nobodyKnows
    }
  }

  /// Expects that both programs are in time with each other, and ours with the reference peer. If lost
  /// cycles disturb LinkHut in most stretches of time and our program was never off, only LinkHut is
  /// blamed.
  func expectInSync(_ ears: EarPair, tempo: Double, _ what: String) async throws {
    var said = ""
    var (stretchesOfLinkHut, whole) = (0, 0)
    for _ in 0..<Self.stretches {
      let heard = try await ears.receive(seconds: max(5, 4.6 * 60 / tempo))
      if heard.isWhole { whole += 1 }
      said =
        "\(Heard.tempo(of: heard.ours).rounded(places: 2)) BPM heard; from the reference beat: ours "
        + "\(heard.ours.filter(\.isSure).map(\.error).spread), LinkHut's \(heard.theirs.filter(\.isSure).map(\.error).spread); "
        + "ours from LinkHut's: \(heard.differences.spread)"
      switch verdict(heard, tempo: tempo) {
      case .inTime:
        record.step(what, said, holds: true)
        return
      case .weAreOff:
        record.step(what, said, holds: false)
        return
      case .linkHutIsOff:
        stretchesOfLinkHut += 1
      case .nobodyKnows: break
      }
      try await ears.joinAgain()
    }
    if stretchesOfLinkHut > Self.stretches / 2 {
      notJudged("\(what): whether LinkHut hears it, too")
      let why = "LinkHut alone is off in \(stretchesOfLinkHut) of \(Self.stretches) stretches; the last: "
      return record.step(what, why + said, holds: true)
    }
    endUndecided(what, whole: whole, said)
  }

  /// Reports that no stretch of time decided. That proves nothing if cycles were lost in each stretch.
  private func endUndecided(_ what: String, whole: Int, _ last: String) {
    let why =
      "undecided in \(Self.stretches) stretches, \(whole) of them without lost cycles; the last: \(last)"
    if whole == 0 { record.undecided(what, why) } else { record.step(what, why, holds: false) }
  }

  /// Expects our program in time with the reference peer. This check is for tempos at which LinkHut's clicks
  /// overlap.
  func expectOnReferenceBeat(_ ears: EarPair, tempo: Double, _ what: String) async throws {
    var (said, whole) = ("", 0)
    for _ in 0..<Self.stretches {
      let heard = try await ears.receive(seconds: 5)
      if heard.isWhole { whole += 1 }
      let sure = heard.ours.filter(\.isSure)
      let shown = Heard.tempo(of: heard.ours)
      let isRight =
        sure.count >= 3 && abs(Heard.median(sure.map(\.error))) < Self.tolerance
        && abs(shown - tempo) < 0.01 * tempo
        && (heard.gaps.isEmpty || !heard.isWhole)
      said =
        "\(shown.rounded(places: 2)) BPM heard; from the reference beat: ours \(sure.map(\.error).spread)"
      if !isRight && !heard.isWhole { continue }
      record.step(what, said, holds: isRight)
      return
    }
    endUndecided(what, whole: whole, said)
  }

  /// Expects that nothing is heard of our program for `seconds`.
  func expectSilence(_ ears: EarPair, seconds: Double, _ what: String) async throws {
    let heard = try await ears.receive(seconds: seconds)
    record.step(what, "\(heard.ours.count) clicks of ours in \(seconds) s", holds: heard.ours.isEmpty)
  }

  /// Expects that our clicks continue unchanged: all clicks before and after the change fit one straight
  /// line.
  func expectContinuous(
    _ ears: EarPair, tempo: Double, _ what: String, change: () async throws -> Void,
    backForAnotherTry: () async throws -> Void
  ) async throws {
    let period = 60e6 / tempo
    var (said, whole) = ("", 0)
    for turn in 0..<Self.stretches {
      if turn > 0 { try await backForAnotherTry() }
      let heard = try await ears.receive(seconds: 8) {
        try await pause(4)
        try await change()
      }
      if heard.isWhole { whole += 1 }
      let sure = heard.ours.filter(\.isSure)
      guard let first = sure.first, sure.count >= 4 else { continue }
      let steps = sure.map { (($0.heard - first.heard) / period).rounded() }
      let offsets = zip(sure, steps).map { $0.heard - first.heard - $1 * period }
      let middle = Heard.median(offsets)
      let distances = offsets.map { $0 - middle }
      let missing = zip(steps, steps.dropFirst()).reduce(0) { $0 + Int($1.1 - $1.0) - 1 }
      let jump = Heard.median(Array(offsets.suffix(4))) - Heard.median(Array(offsets.prefix(4)))
      let worst = distances.map(abs).max() ?? .nan
      said =
        "\(sure.count) clicks, \(missing) missing, \(Heard.tempo(of: heard.ours).rounded(places: 2)) BPM; from one line: "
        + "\(distances.spread); last four from the first four \(jump.rounded0) us"
      let isRight = abs(jump) < 1000 && worst < Self.tolerance && missing == 0
      // A click may have fallen into a lost cycle: listen again.
      if !isRight && !heard.isWhole { continue }
      record.step(what, said, holds: isRight)
      return
    }
    endUndecided(what, whole: whole, said)
  }
}
