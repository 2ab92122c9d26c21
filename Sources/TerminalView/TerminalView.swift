// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
public import ControlSurface

/// What a musician reads from two metres: the state of the program at a moment, as a picture of characters; the
/// picture as the bytes that make a terminal show it; and keys as addresses of the control surface.
///
/// It lacks a terminal, a clock and everything else that acts: those are in `tactus`, and here everything is values.
/// One invariant: whatever the size and the state, a picture is whole, and nothing from outside (names, messages) can
/// do more to a terminal than be read.
///
/// The way in: `TerminalView.picture`, then `Frame.draw`; for keys `KeyReader`, then `Keyboard`.
public struct TerminalView: Sendable {
  public var glyphs: Glyphs
  let keys: KeyMap

  public init(glyphs: Glyphs, keys: KeyMap = KeyMap()) {
    self.glyphs = glyphs
    self.keys = keys
  }

  public func picture(of scene: Scene, size: Size) -> Picture {
    var picture = Picture(size)
    drawPage(scene, size, on: &picture)
    if let typed = scene.typed { drawTyped(typed, on: &picture) }
    return picture
  }

  private func drawPage(_ scene: Scene, _ size: Size, on picture: inout Picture) {
    if size.columns < Size.smallest.columns || size.rows < Size.smallest.rows {
      return drawTooSmall(scene, on: &picture)
    }
    switch scene.page {
    case .keys: drawKeys(scene, on: &picture)
    case .code: drawCodePage(scene, on: &picture)
    case .playing:
      if size.columns >= Self.large.columns && size.rows >= Self.large.rows {
        drawLarge(scene, on: &picture)
      } else {
        drawSmall(scene, on: &picture)
      }
    }
  }

  /// From here on there is room for everything with its name.
  static let large = Size(columns: 76, rows: 23)

  private func drawTooSmall(_ scene: Scene, on picture: inout Picture) {
    picture.write(Facts(scene).tempo, row: 0, column: 0, style: .bold)
    let size = picture.size
    let words = [
      "This terminal has", "\(size.columns)x\(size.rows).", "The view needs",
      "\(Size.smallest.columns)x\(Size.smallest.rows).",
    ]
    var row = 1
    var column = 0
    for word in words {
      if column > 0, column + 1 + word.count > size.columns {
        row += 1
        column = 0
      }
      column = picture.write(word, row: row, column: column > 0 ? column + 1 : 0)
    }
  }
}

/// Everything that is shown, at one moment.
public struct Scene: Sendable {
  public enum Page: Sendable {
    case playing
    /// What the keys do.
    case keys
    /// The page for browsers, and how to get there.
    case code
  }

  public var state: SurfaceState
  /// On Link's clock. What is shown for a time is what is heard at it.
  public var now: Micros
  public var reach = Reach.off
  public var news: News?
  /// The one before.
  public var earlierNews: News?
  /// Where what is shown runs; nil: here.
  public var place: String?
  public var page = Page.playing
  public var typed: Keyboard.Typed?
  /// What pairs a browser with us, as it is typed. nil: there is no page.
  public var pairingCode: String?

  public init(state: SurfaceState, now: Micros) {
    self.state = state
    self.now = now
  }
}

/// What to type into a tablet.
public enum Reach: Hashable, Sendable {
  /// Nobody wants it.
  case off
  /// It opens with the JACK client.
  case closed
  case thisMachine(port: Int)
  /// Each with its port; none while there is no network.
  case network([String], port: Int)
}

/// The last message.
public struct News: Hashable, Sendable {
  public var text: String
  public var time: Micros
  /// Somebody has to do something about it.
  public var isComplaint: Bool

  /// So long it stands out, as LinkKit's banners do.
  static let fresh = Micros(2_000_000)

  public init(_ text: String, at time: Micros, isComplaint: Bool = false) {
    self.text = text
    self.time = time
    self.isComplaint = isComplaint
  }
}
