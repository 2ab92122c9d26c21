// SPDX-License-Identifier: GPL-2.0-or-later
import TactusSurface

/// Layouts for tablets and phones, made from the table of `TactusSurface`: a page of controls is described
/// once in this module, and written for TouchOSC, for Open Stage Control, and as a picture for the docs.
///
/// Only maintainers use this program (`tools/layouts`). Its invariant: a control names a row of the table,
/// and its messages, display and range come from that row.
struct Layout {
  let name: String
  let title: String
  let width: Double
  let height: Double
  let pages: [Page]

  static let tabBar = 40.0
  static let all = [phone, tablet]
}

struct Page {
  let title: String
  var controls: [Control] = []
}

struct Area: Equatable {
  var x, y, width, height: Double

  /// The two parts of an area that shows a value: the caption above, the value below.
  var split: (caption: Area, value: Area) {
    let share = (height * 0.35).rounded()
    return (
      Area(x: x, y: y, width: width, height: share),
      Area(x: x, y: y + share, width: width, height: height - share)
    )
  }
}

/// Columns and rows of an area.
struct Grid {
  private let area: Area
  private let unit: (width: Double, height: Double)

  init(_ area: Area, columns: Double, rows: Double) {
    self.area = area
    unit = (area.width / columns, area.height / rows)
  }

  func callAsFunction(_ column: Double, _ row: Double, _ width: Double = 1, _ height: Double = 1) -> Area {
    let gap = 6.0
    return Area(
      x: (area.x + column * unit.width + gap / 2).rounded(),
      y: (area.y + row * unit.height + gap / 2).rounded(),
      width: (width * unit.width - gap).rounded(), height: (height * unit.height - gap).rounded())
  }
}

struct Control {
  enum Kind: Equatable {
    case push, toggle, fader(ClosedRange<Double>, inWholeSteps: Bool = false), light, ring, label(size: Int)
  }

  let kind: Kind
  let path: String
  let caption: String
  let frame: Area
  let color: Color

  /// The largest font size at which the text fits its frame.
  static func captionSize(_ text: String, _ frame: Area) -> Double {
    min(frame.height * 0.4, 1.35 * frame.width / Double(max(text.count, 2)), 32)
  }

  var row: Node? { Table.standard.row(path) }
  var isSent: Bool {
    switch kind {
    case .push, .toggle, .fader: true
    case .light, .ring, .label: false
    }
  }
}

enum Color: String {
  case tempo, go, stop, switchedOn, beat, down, text, plain

  var components: (red: Double, green: Double, blue: Double) {
    switch self {
    case .tempo: (0.95, 0.62, 0.15)
    case .go: (0.2, 0.75, 0.35)
    case .stop: (0.85, 0.25, 0.25)
    case .switchedOn: (0.2, 0.6, 0.9)
    case .beat: (0.95, 0.85, 0.25)
    case .down: (1, 0.45, 0.1)
    case .text: (0.12, 0.12, 0.13)
    case .plain: (0.45, 0.47, 0.5)
    }
  }
}

extension Page {
  /// Adds a control of the kind that suits its row.
  mutating func add(
    _ path: String, _ caption: String, _ frame: Area, _ color: Color = .plain,
    range: ClosedRange<Double>? = nil, inWholeSteps: Bool = false
  ) {
    guard let row = Table.standard.row(path) else {
      preconditionFailure("no row \(path)")
    }
    let kind: Control.Kind
    switch (row.kind, row.parameters.first) {
    case (.trigger, _): kind = .push
    case (.value, .flag?): kind = .toggle
    case (.value, .fader?): kind = .fader(0...1)
    case (.value, .number(let whole, _)?): kind = .fader(range ?? whole, inWholeSteps: inWholeSteps)
    case (.value, .whole(let whole, _)?):
      kind = .fader(
        range ?? Double(whole.lowerBound)...Double(whole.upperBound), inWholeSteps: true)
    case (.value, .beats(let whole, _)?): kind = .fader(range ?? whole, inWholeSteps: true)
    case (.order, .number(let whole, _)?): kind = .fader(range ?? whole)
    case (.feed, .flag?): kind = .light
    case (.feed, .number?) where path == "phase": kind = .ring
    default: kind = .label(size: Int(frame.height * 0.5))
    }
    controls.append(Control(kind: kind, path: path, caption: caption, frame: frame, color: color))
  }

  mutating func label(_ path: String, _ frame: Area, size: Int? = nil, caption: String = "") {
    controls.append(
      Control(
        kind: .label(size: size ?? Int(min(frame.height * 0.55, 40))), path: path, caption: caption,
        frame: frame,
        color: .text))
  }
}
