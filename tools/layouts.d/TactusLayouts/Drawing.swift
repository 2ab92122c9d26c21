// SPDX-License-Identifier: GPL-2.0-or-later
import TactusSurface

/// A picture of a layout for the docs: its pages side by side, as they look while the transport rolls.
enum Drawing {
  private static let example: [String: String] = [
    "tempo/str": "120.00", "peers/str": "2 Links", "link/str": "Enabled", "position/bbt": "003|02|0480",
    "position/time": "00:00:03.625", "lead/str": "Ableton Link", "status": "rolling, in time",
    "click/pattern": "Xxxx", "jack/timebase/str": "tactus", "message": "2 Links",
    "click/1/latency": "5.33", "clock/latency": "5.33", "drift": "0.02", "launch/error": "0.01",
    "jack/lost": "0",
  ]
  private static let lit: Set<String> = [
    "beat/2", "start", "link", "click", "launch/bar", "lead/link", "click/when/rolling", "jack/timebase",
    "clock",
    "pulse/rate/1",
  ]

  static func svg(_ layout: Layout) -> String {
    let gap = 20.0
    let columns = layout.width > layout.height ? 2 : layout.pages.count
    let rows = (layout.pages.count + columns - 1) / columns
    let width = Double(columns) * (layout.width + gap) - gap
    let height = Double(rows) * (layout.height + gap) - gap
    var svg =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 \(text(width)) \(text(height))\" "
      + "font-family=\"sans-serif\" text-anchor=\"middle\">\n"
    for (index, page) in layout.pages.enumerated() {
      let x = Double(index % columns) * (layout.width + gap)
      let y = Double(index / columns) * (layout.height + gap)
      svg += "<g transform=\"translate(\(text(x)) \(text(y)))\">\n"
      svg += box(Area(x: 0, y: 0, width: layout.width, height: layout.height), "#111")
      svg += tabs(layout, selected: page.title)
      svg += "<g transform=\"translate(0 \(text(Layout.tabBar)))\">\n"
      for control in page.controls { svg += draw(control) }
      svg += "</g>\n</g>\n"
    }
    return svg + "</svg>\n"
  }

  private static func tabs(_ layout: Layout, selected: String) -> String {
    let width = layout.width / Double(layout.pages.count)
    return layout.pages.enumerated().map { index, page in
      let frame = Area(x: Double(index) * width, y: 0, width: width, height: Layout.tabBar)
      let isSelected = page.title == selected
      return box(frame, isSelected ? "#f29e26" : "#333")
        + words(page.title, frame, 16, isSelected ? "#000" : "#fff")
    }.joined()
  }

  private static func draw(_ control: Control) -> String {
    let tone = color(control.color)
    let isLit = lit.contains(control.path)
    let frame = control.frame
    let size = Control.captionSize(control.caption, frame)
    switch control.kind {
    case .push, .toggle, .light:
      return box(frame, tone, opacity: isLit ? 1 : 0.3, outline: tone)
        + words(control.caption, frame, size, "#fff")
    case .fader(let range, _):
      let share = range.lowerBound < 0 ? 0.5 : 0.4
      let bar = Area(x: frame.x, y: frame.y, width: frame.width * share, height: frame.height)
      return box(frame, tone, opacity: 0.2, outline: tone) + box(bar, tone, opacity: 0.7)
        + words(control.caption, frame, size, "#fff")
    case .ring:
      let radius = min(frame.width, frame.height) / 2 - 8
      let (x, y) = (frame.x + frame.width / 2, frame.y + frame.height / 2)
      return
        "<circle cx=\"\(text(x))\" cy=\"\(text(y))\" r=\"\(text(radius))\" fill=\"none\" stroke=\"\(tone)\" "
        + "stroke-width=\"10\" stroke-dasharray=\"\(text(radius * 2.0)) \(text(radius * 6.3))\" "
        + "transform=\"rotate(-90 \(text(x)) \(text(y)))\"/>\n"
    case .label(let size):
      let value = example[control.path] ?? ""
      guard !control.caption.isEmpty else {
        return box(frame, "#1f1f21") + words(value, frame, Double(size), "#fff")
      }
      let (above, below) = frame.split
      return box(below, "#1f1f21") + words(value, below, Double(size), "#fff")
        + words(control.caption, above, Control.captionSize(control.caption, above), "#bbb")
    }
  }

  private static func box(_ frame: Area, _ fill: String, opacity: Double = 1, outline: String? = nil)
    -> String
  {
    "<rect x=\"\(text(frame.x))\" y=\"\(text(frame.y))\" width=\"\(text(frame.width))\" height=\"\(text(frame.height))\" "
      + "rx=\"3\" fill=\"\(fill)\" fill-opacity=\"\(text(opacity))\""
      + (outline.map { " stroke=\"\($0)\"" } ?? "") + "/>\n"
  }

  private static func words(_ words: String, _ frame: Area, _ size: Double, _ color: String) -> String {
    guard !words.isEmpty else { return "" }
    let escaped = words.map { ["<": "&lt;", "&": "&amp;"][$0] ?? String($0) }.joined()
    return
      "<text x=\"\(text(frame.x + frame.width / 2))\" y=\"\(text(frame.y + frame.height / 2 + size * 0.35))\" "
      + "font-size=\"\(text(size))\" fill=\"\(color)\">\(escaped)</text>\n"
  }

  private static func color(_ color: Color) -> String {
    let tone = color.components
    return "#"
      + [tone.red, tone.green, tone.blue].map { part in
        let digits = String(Int((part * 255).rounded()), radix: 16)
        return digits.count == 1 ? "0" + digits : digits
      }.joined()
  }

  private static func text(_ value: Double) -> String {
    value == value.rounded() ? "\(Int(value))" : "\((value * 100).rounded() / 100)"
  }
}
