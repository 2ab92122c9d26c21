// SPDX-License-Identifier: GPL-2.0-or-later
public import TactusMIDI
import TactusOSC

extension Table {
  static let midi: [Node] = [
    .value(
      "midi/learn", [.text(limit: 128)],
      "Binds the next key, knob or pedal that you touch to this address, with arguments if you like. "
        + "Empty: stops waiting for a touch.",
      read: { [.text($0.own.lesson)] }, write: { values, _ in .learn(values[0].text) }),
    .label("midi/learned", "The binding that was learned last, as --midi takes it.") { $0.own.learned },
    .label("midi/last", "The last key, knob or pedal that sent a message.") { $0.own.lastEvent },
    .count("midi/bound", "", "How many bindings of keys, knobs and pedals were learned.") {
      $0.own.learnedCount
    },
    .order(
      "midi/forget", [.text(limit: 128)],
      "Forgets the learned bindings of an event (note 36 ch 10) or of an address, or all of them (all)."
    ) { values, _ in .forget(values[0].text) },
    .verb(.midiList, [], "tactus sends you every binding, as midi/binding."),
    .answer(
      "midi/binding", [.text(limit: 255), .text(limit: 16)],
      "A key, knob or pedal, its command, and where the binding comes from: learned, configured or "
        + "standard."),
  ]

  /// Why these targets cannot be bound, in words for the user; nil: they can.
  ///
  /// - Parameter isKey: whether they are bound to a key, which is on this machine and has no level as a knob
  /// has.
  public func objection(to targets: [Target], ofKey isKey: Bool = false) -> String? {
    for target in targets {
      if let objection = objection(to: target, ofKey: isKey) { return objection }
    }
    return nil
  }

  private func objection(to target: Target, ofKey isKey: Bool) -> String? {
    guard let row = row(target.path) else {
      // The row's output may be added later, while the program runs.
      if Self.ownOutput(target.path)?.isWritable == true { return nil }
      let hint = nearest(to: target.path).map { "; do you mean \($0)?" } ?? ""
      return "no such address: \(printable(target.path, limit: 64))\(hint)"
    }
    switch row.kind {
    case .value, .trigger, .order: break
    case .reading, .feed, .verb, .answer: return "\(row.path) can't be set"
    }
    guard row.reach == .anyone || isKey else {
      return "\(row.path) is obeyed only from this machine, not by MIDI"
    }
    do throws(Refusal) {
      if let range = target.range {
        guard !isKey else { return "\(row.path): a key has no range, only a value" }
        for end in [range.lowerBound, range.upperBound] { _ = try row.accept([.float64(end)]) }
      } else if !target.arguments.isEmpty {
        try row.judge(row.said(by: target))
      } else if row.kind != .trigger, isKey || !row.takesLevel {
        return "\(row.path) needs its arguments: \(row.parameters.map(\.allowed).joined(separator: "; "))"
      }
    } catch {
      return "\(row.path): \(error.text)"
    }
    return nil
  }
}

extension Node {
  /// Throws if a command with these arguments can never be obeyed. Whether it can be obeyed at the moment is
  /// checked each time the MIDI message arrives.
  fileprivate func judge(_ arguments: [Argument]) throws(Refusal) {
    guard let values = try accept(arguments), let write else { return }
    do throws(Refusal) {
      _ = try write(values, Reading(state: SurfaceState(), own: SurfaceMemory()))
    } catch {
      guard error.code == .notNow else { throw error }
    }
  }

  /// Whether a knob's level can be the row's argument.
  fileprivate var takesLevel: Bool {
    guard kind == .value, parameters.count == 1 else { return false }
    switch parameters[0] {
    case .number, .fader, .whole, .beats, .flag, .word: return true
    case .text, .exact: return false
    }
  }
}
