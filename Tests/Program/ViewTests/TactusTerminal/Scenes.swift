// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusSurface

@testable import TactusTerminal

/// Scenes at 120 BPM. The session's beat 0 is at time 0, so a beat takes half a second.
enum Scenes {
  static func scene(beat: Double = 0, _ change: (inout SurfaceState) -> Void = { _ in }) -> Scene {
    var state = SurfaceState()
    state.choices.clock.isOn = false
    state.choices.pulse.isOn = false
    state.choices.click.when = .rolling
    state.link.peers = 1
    state.jack.isRunning = true
    state.jack.sampleRate = 48_000
    state.jack.framesPerCycle = 256
    state.jack.isClickConnected = true
    state.jack.timebase = .tactus
    change(&state)
    return Scene(state: state, now: state.time(atSessionBeats: Beats(beat)))
  }

  static let rolling = SurfaceState.Transport.rolling(origin: .zero)

  static func text(_ scene: Scene, _ columns: Int, _ rows: Int, _ glyphs: Glyphs = .ascii) -> String {
    TerminalView(glyphs: glyphs).picture(of: scene, size: Size(columns: columns, rows: rows)).text
  }

  /// The cells of large digits as rows of text, with # for a filled cell.
  static func bigText(_ picture: Picture, rows: Range<Int>, columns: Range<Int>) -> [String] {
    rows.map { row in
      String(columns.map { picture[row, $0].scalar == "#" ? "#" : " " } as [Character])
    }
  }
}

/// A terminal with only the functions that the view needs: it obeys the view's bytes and keeps the resulting
/// picture.
struct ScreenReader {
  private(set) var picture: Picture
  private(set) var isColoured = false
  private var row = 0
  private var column = 0
  private var style = Style()

  init(_ size: Size) {
    picture = Picture(size)
  }

  mutating func obey(_ bytes: [UInt8]) {
    var rest = Array(String(decoding: bytes, as: UTF8.self).unicodeScalars)[...]
    while let scalar = rest.popFirst() {
      guard scalar == "\u{1B}" else {
        picture[row, column] = Cell(scalar: scalar, style: style)
        column += 1
        continue
      }
      _ = rest.popFirst()
      let end = rest.firstIndex { ("A"..."z").contains($0) && $0 != "[" } ?? rest.endIndex - 1
      let numbers = String(String.UnicodeScalarView(rest[..<end])).split(separator: ";").map { Int($0) ?? 0 }
      obey(rest[end], numbers)
      rest = rest[(end + 1)...]
    }
  }

  private mutating func obey(_ final: Unicode.Scalar, _ numbers: [Int]) {
    switch final {
    case "H": (row, column) = (numbers[0] - 1, numbers[1] - 1)
    case "J": picture = Picture(picture.size)
    case "m":
      style = Style()
      for number in numbers { apply(number) }
    default: break
    }
  }

  private mutating func apply(_ number: Int) {
    let colours: [Int: Style.Colour] = [
      93: .downbeat, 36: .beat, 32: .good, 33: .warning, 91: .alarm, 90: .quiet,
    ]
    switch number {
    case 1: style.isBold = true
    case 7: style.isInverse = true
    default:
      if let colour = colours[number] {
        style.colour = colour
        isColoured = true
      }
    }
  }
}
