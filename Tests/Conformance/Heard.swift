// SPDX-License-Identifier: GPL-2.0-or-later
import TestSupport
import Testing

/// What both programs played in a stretch of time.
struct Heard {
  let ours, theirs: [Onset]
  /// No cycle was lost: then nothing may be missing.
  let isWhole: Bool

  static func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    return sorted.isEmpty ? .nan : (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
  }

  /// Beats a minute of what was heard, from the median distance of two neighbours.
  static func tempo(of onsets: [Onset]) -> Double {
    // What lies between two that are not neighbours may be several beats.
    let pairs = zip(onsets, onsets.dropFirst()).filter { $0.isSure && $1.isSure }
    return 60e6 / median(pairs.map { $1.heard - $0.heard })
  }

  /// Ours against theirs, microseconds, each against the nearest: positive is later.
  var differences: [Double] {
    ours.filter(\.isSure).compactMap { mine in
      theirs.filter(\.isSure).map { mine.heard - $0.heard }.min { abs($0) < abs($1) }
    }
  }

  /// Beats of the reference between two neighbours of ours that are not one beat apart.
  var gaps: [Double] {
    zip(ours, ours.dropFirst()).filter { $0.isSure && $1.isSure }.map { $1.beat - $0.beat }
      .filter { abs($0 - 1) > 0.25 }
  }
}

extension [Double] {
  /// "median 12 us, from -3 to 20, of 17"
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
  /// A busy machine makes each of the three wrong for a while: LinkHut times its sound by when its callback is called,
  /// so that after a lost cycle it is up to 80 ms off for seconds; a peer that measured the session's clock while it was held
  /// up is off until it measures again. So there are three, and two must agree before one is blamed. Where nobody
  /// agrees, another stretch is taken.
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

  /// Both are in time with each other, and ours with the reference peer. Where lost cycles keep LinkHut off in most
  /// stretches, and ours never was, it is LinkHut alone that is blamed.
  func expectInSync(_ ears: Ears, tempo: Double, _ what: String) async throws {
    var said = ""
    var stretchesOfLinkHut = 0
    for _ in 0..<Self.stretches {
      let heard = try await ears.hear(seconds: max(5, 4.6 * 60 / tempo))
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
    record.step(what, "undecided in \(Self.stretches) stretches; the last: \(said)", holds: false)
  }

  /// Where LinkHut's clicks cannot be told apart: ours are in time with the reference peer.
  func expectOnReferenceBeat(_ ears: Ears, tempo: Double, _ what: String) async throws {
    var said = ""
    for _ in 0..<Self.stretches {
      let heard = try await ears.hear(seconds: 5)
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
    record.step(what, "undecided in \(Self.stretches) stretches; the last: \(said)", holds: false)
  }

  /// Nothing is heard of us for so long.
  func expectSilence(_ ears: Ears, seconds: Double, _ what: String) async throws {
    let heard = try await ears.hear(seconds: seconds)
    record.step(what, "\(heard.ours.count) clicks of ours in \(seconds) s", holds: heard.ours.isEmpty)
  }

  /// Ours go on as if nothing had happened: one line through all clicks, before and after.
  func expectContinuous(
    _ ears: Ears, tempo: Double, _ what: String, change: () async throws -> Void,
    backForAnotherTry: () async throws -> Void
  ) async throws {
    let period = 60e6 / tempo
    var said = ""
    for turn in 0..<Self.stretches {
      if turn > 0 { try await backForAnotherTry() }
      let heard = try await ears.hear(seconds: 8) {
        try await pause(4)
        try await change()
      }
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
      // A click may fall into a cycle that was lost.
      if !isRight && !heard.isWhole { continue }
      record.step(what, said, holds: isRight)
      return
    }
    record.step(what, "no stretch of \(Self.stretches) without lost cycles; the last: \(said)", holds: false)
  }
}
