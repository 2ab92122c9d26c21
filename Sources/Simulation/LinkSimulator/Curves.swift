// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkWorld

/// A cumulative distribution as an SVG: for each error, the share of all worlds in which no beat had a larger
/// error. Each kind of world has one curve.
struct Curves {
  /// The worst error of each world, in microseconds, by the kind of the world's network.
  private var errors: [Kind: Samples] = [:]

  enum Kind: String, CaseIterable {
    case room = "one network"
    case steady = "rooms far apart, no jitter"
    case even = "even jitter"
    case pareto = "Pareto's jitter"
    case uneven = "one way longer than the other: beyond half of the difference"

    init(_ scenario: Scenario) {
      guard let wires = scenario.rooms?.wires else {
        self = .room
        return
      }
      if wires.contains(where: { $0.asymmetry > .zero }) {
        self = .uneven
      } else if wires.allSatisfy({ $0.jitter == .zero }) {
        self = .steady
      } else {
        self = wires.contains { $0.isPareto && $0.jitter > .zero } ? .pareto : .even
      }
    }

    var color: String {
      switch self {
      case .room, .steady: "#3a7"
      case .even: "#27b"
      case .pareto: "#c50"
      case .uneven: "#85a"
      }
    }
  }

  private static let (width, height) = (960.0, 420.0)
  private static let (left, bottom, top) = (60.0, 40.0, 20.0)
  /// The axis runs from 10 µs to 100 ms.
  private static let decades = 1...5
  private static let points = 400

  mutating func add(_ outcome: Simulation.Outcome) {
    guard let worst = outcome.phaseErrors.maximum else { return }
    // The error that comes from asymmetry is subtracted, because no protocol can measure asymmetry.
    let hidden = (outcome.scenario.rooms?.wires ?? []).map { Double($0.asymmetry.count) / 2 }.max() ?? 0
    errors[Kind(outcome.scenario), default: Samples()].add(max(0, worst - hidden))
  }

  func write(to file: String) -> Bool {
    guard let stream = fopen(file, "w") else { return false }
    fputs(text, stream)
    return fclose(stream) == 0
  }

  /// The kinds and their errors, for a table.
  var kinds: [(name: String, errors: Samples)] {
    Kind.allCases.compactMap { kind in errors[kind].map { (kind.rawValue, $0) } }
  }

  private var text: String {
    var lines = [
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 \(Curves.width) \(Curves.height)' "
        + "font-family='sans-serif' font-size='13'>",
      "<rect width='100%' height='100%' fill='white'/>",
    ]
    for decade in Curves.decades {
      let (x, value) = (horizontal(Double(decade)), pow(10, Double(decade)))
      lines.append(
        "<line x1='\(x)' x2='\(x)' y1='\(Curves.top)' y2='\(Curves.height - Curves.bottom)' stroke='#ddd'/>"
          + "<text x='\(x)' y='\(Curves.height - 16)' text-anchor='middle'>\(Describe.micros(value))</text>")
    }
    for tenth in stride(from: 0, through: 10, by: 2) {
      let y = vertical(Double(tenth) / 10)
      lines.append(
        "<line x1='\(Curves.left)' x2='\(Curves.width - 10)' y1='\(y)' y2='\(y)' stroke='#ddd'/>"
          + "<text x='\(Curves.left - 6)' y='\(y + 4)' text-anchor='end'>\(tenth * 10) %</text>")
    }
    for (place, kind) in Kind.allCases.filter({ errors[$0] != nil }).enumerated() {
      lines += curve(of: kind, place)
    }
    return (lines + ["</svg>"]).joined(separator: "\n") + "\n"
  }

  private func curve(of kind: Kind, _ place: Int) -> [String] {
    guard let samples = errors[kind] else { return [] }
    let points = (0...Curves.points).compactMap { point -> String? in
      let part = Double(point) / Double(Curves.points)
      guard let error = samples.quantile(part) else { return nil }
      let x = horizontal(log10(max(error, 1))).rounded(toPlaces: 1)
      return "\(x),\(vertical(part).rounded(toPlaces: 1))"
    }
    let y = Curves.top + 20 + 18 * Double(place)
    return [
      "<polyline fill='none' stroke='\(kind.color)' stroke-width='2' points='\(points.joined(separator: " "))'/>",
      "<text x='\(Curves.left + 12)' y='\(y)' fill='\(kind.color)'>\(kind.rawValue): \(samples.count) worlds</text>",
    ]
  }

  /// The horizontal place of a value. Values outside the decades are drawn at the edge.
  private func horizontal(_ decade: Double) -> Double {
    let (first, last) = (Double(Curves.decades.lowerBound), Double(Curves.decades.upperBound))
    let part = (min(max(decade, first), last) - first) / (last - first)
    return Curves.left + part * (Curves.width - Curves.left - 40)
  }

  private func vertical(_ part: Double) -> Double {
    Curves.height - Curves.bottom - part * (Curves.height - Curves.bottom - Curves.top)
  }
}
