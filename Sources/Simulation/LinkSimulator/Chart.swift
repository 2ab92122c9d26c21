// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkWorld

/// A chart in SVG: the distance of every peer's beat from the first peer's beat, over time.
struct Chart {
  private let outcome: Simulation.Outcome

  private static let width = 960.0
  private static let height = 420.0
  private static let left = 80.0
  private static let bottom = 40.0
  private static let top = 50.0
  /// The most peers and moments that the chart shows. More of them would show nothing new, and would make the
  /// file slow to draw.
  private static let most = (peers: 64, moments: 1500)

  init(_ outcome: Simulation.Outcome) {
    self.outcome = outcome
  }

  func write(to file: String) -> Bool {
    guard let stream = fopen(file, "w") else { return false }
    fputs(text, stream)
    return fclose(stream) == 0
  }

  private var text: String {
    let end = outcome.trace.last?.second ?? 1
    let limit = scale
    let decades = (0...6).map { pow10($0) }.filter { $0 <= limit }
    var lines = [
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 \(Chart.width) \(Chart.height)' "
        + "font-family='sans-serif' font-size='13'>",
      "<rect width='100%' height='100%' fill='white'/>",
      "<text x='\(Chart.left)' y='22'>Phase error against the first peer, seed \(outcome.scenario.seed): "
        + "\(outcome.scenario)</text>",
      "<text x='\(Chart.left)' y='40' fill='#666'>\(Describe.phase(outcome.phaseErrors)) in peace</text>",
    ]
    for decade in decades {
      let y = vertical(decade, limit)
      lines.append(
        "<line x1='\(Chart.left)' x2='\(Chart.width - 10)' y1='\(y)' y2='\(y)' stroke='#ddd'/>"
          + "<text x='\(Chart.left - 6)' y='\(y + 4)' text-anchor='end'>\(Describe.micros(decade))</text>")
    }
    for tenth in 0...10 {
      let second = end * Double(tenth) / 10
      lines.append(
        "<text x='\(horizontal(second, end))' y='\(Chart.height - 14)' text-anchor='middle'>"
          + "\(second.rounded(toPlaces: end < 20 ? 1 : 0)) s</text>")
    }
    lines += curves(end, limit)
    return (lines + ["</svg>"]).joined(separator: "\n") + "\n"
  }

  private func curves(_ end: Double, _ limit: Double) -> [String] {
    let count = min(outcome.trace.map(\.errors.count).max() ?? 0, Chart.most.peers)
    let stride = max(1, outcome.trace.count / Chart.most.moments)
    return (0..<count).map { peer in
      var points: [String] = []
      for (index, moment) in outcome.trace.enumerated()
      where index % stride == 0 && peer < moment.errors.count {
        let x = horizontal(moment.second, end).rounded(toPlaces: 1)
        let y = vertical(moment.errors[peer].magnitude, limit).rounded(toPlaces: 1)
        points.append("\(x),\(y)")
      }
      let hue = peer * 137 % 360
      return "<polyline fill='none' stroke='hsl(\(hue) 60% 45%)' stroke-width='1' stroke-opacity='0.7' "
        + "points='\(points.joined(separator: " "))'/>"
    }
  }

  private var scale: Double {
    max(10, outcome.trace.lazy.flatMap(\.errors).map(\.magnitude).max() ?? 10)
  }

  private func pow10(_ exponent: Int) -> Double { (0..<exponent).reduce(1) { value, _ in value * 10 } }

  private func horizontal(_ second: Double, _ end: Double) -> Double {
    Chart.left + second / max(end, 1e-9) * (Chart.width - Chart.left - 10)
  }

  /// The height of an error, on a logarithmic scale from a microsecond up: errors span five decades.
  private func vertical(_ error: Double, _ limit: Double) -> Double {
    let part = log(max(error, 1)) / log(limit)
    return Chart.height - Chart.bottom - part * (Chart.height - Chart.bottom - Chart.top)
  }
}
