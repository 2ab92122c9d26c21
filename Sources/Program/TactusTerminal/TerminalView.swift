// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath
public import TactusSurface

/// The view that a musician reads from two metres. The program's state at a moment becomes a picture of
/// characters, the picture becomes bytes for a terminal, and keys become addresses of the control surface.
///
/// Left out on purpose are the terminal, the clock and all effects: those are in `TactusApp`, and here
/// everything is a value. One invariant: whatever the size and the state, a picture is complete, and text
/// from outside (names, messages) can't control the terminal.
///
/// Start reading at `TerminalView.picture`, then `Frame.draw`; for keys at `KeyReader`, then `Keyboard`.
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
    if let typed = scene.typed {
      drawTyped(typed, on: &picture)
    } else if scene.isTuning {
      drawTuning(scene, on: &picture)
    }
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

  /// From this size on, the view uses its large layout.
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

/// Everything that the view shows at one moment.
public struct Scene: Sendable {
  public enum Page: Sendable {
    case playing
    /// The page that lists the keys.
    case keys
    /// The page with the web page's address and QR code.
    case code
  }

  public var state: SurfaceState
  /// A time of Link's clock. The view shows what is heard at this time.
  public var now: Micros
  public var reach = Reach.off
  public var news: News?
  /// The message before the last one.
  public var earlierNews: News?
  /// The machine on which the shown tactus runs; nil: this machine.
  public var place: String?
  public var page = Page.playing
  public var typed: Keyboard.OptionValueType?
  /// Whether a key has just changed the click's offset.
  public var isTuning = false
  /// The code that pairs a browser, in the form that users type. nil: there is no page.
  public var pairingCode: String?

  public init(state: SurfaceState, now: Micros) {
    self.state = state
    self.now = now
  }
}

/// The addresses to type into a tablet.
public enum Reach: Hashable, Sendable {
  /// OSC is turned off.
  case off
  /// OSC opens with the JACK client.
  case closed
  case thisMachine(port: Int)
  /// Addresses with their ports; empty: there is no network.
  case network([String], port: Int)
}

/// A message to the user.
public struct News: Hashable, Sendable {
  public var text: String
  public var time: Micros
  /// Whether the user should act on the message.
  public var isComplaint: Bool

  /// How long a new message is highlighted: as long as LinkKit's banners are shown.
  static let fresh = Micros(2_000_000)

  public init(_ text: String, at time: Micros, isComplaint: Bool = false) {
    self.text = text
    self.time = time
    self.isComplaint = isComplaint
  }
}
