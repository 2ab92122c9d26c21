// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusQRCode
import TactusTestSupport
import Testing

@testable import TactusSurface
@testable import TactusTerminal

@Suite("The QR code's page")
struct CodePageTests {
  private static let address = "http://192.168.100.100:20880/"
  private static let code = "K7QM-3XPA-9BCD-EFGH"
  private static let both = "http://192.168.100.100:20880/#K7QM3XPA9BCDEFGH"

  private func scene(_ page: PageReach = .network([address]), isOpen: Bool = true) -> Scene {
    var scene = Scenes.scene {
      $0.page.reach = page
      $0.choices.opensPage = isOpen
    }
    scene.page = .code
    scene.pairingCode = Self.code
    return scene
  }

  /// The picture as it looks on a dark terminal, with four by two dots for each character.
  private func dots(_ picture: Picture) -> [[Bool]] {
    func isDark(_ cell: Cell, upper: Bool) -> Bool {
      guard cell.style.colour == .code else { return true }
      switch cell.scalar {
      case "\u{2588}": return true
      case "\u{2580}": return upper
      case "\u{2584}": return !upper
      default: return cell.style.isInverse
      }
    }
    return (0..<picture.size.rows).flatMap { row in
      (0..<4).map { dot in
        (0..<picture.size.columns).flatMap { column in
          Array(repeating: isDark(picture[row, column], upper: dot < 2), count: 2)
        }
      }
    }
  }

  private func picture(_ columns: Int, _ rows: Int, _ glyphs: Glyphs = .unicode) -> Picture {
    TerminalView(glyphs: glyphs).picture(of: scene(), size: Size(columns: columns, rows: rows))
  }

  @Test(arguments: [(80, 24), (132, 43), (65, 19), (40, 25)])
  func `a camera reads the QR code at every terminal size with room for it`(
    columns: Int, rows: Int
  ) throws {
    let picture = picture(columns, rows)
    #expect(try Camera.read(dots(picture)) == [Self.both])
    #expect(picture.text.contains(Self.code) && picture.text.contains(Self.address))
  }

  @Test
  func `the text beside the QR code says how to leave and who may see it`() {
    let size = Size(columns: 80, rows: 24)
    let lines = TerminalView(glyphs: .unicode).picture(of: scene(), size: size).text.split(separator: "\n")
    let beside = lines.map { line in line.split { "\u{2580}\u{2584}\u{2588}".contains($0) }.last ?? "" }
    let words = beside.joined(separator: " ").split(separator: " ").joined(separator: " ")
    #expect(
      words.contains(
        "w or Esc: back. o: close the page to everybody. Point a phone's camera here: that pairs it. "
          + "Everyone who sees this code can change settings."), "\(words)")
    #expect(picture(40, 25).text.contains("w or Esc: back."))
  }

  @Test
  func `without half-block characters the QR code is drawn with spaces`() throws {
    #expect(try Camera.read(dots(picture(110, 40, .ascii))) == [Self.both])
    let small = picture(80, 24, .ascii).text
    #expect(small.contains("The QR code needs 66x38; this is 80x24.") && small.contains(Self.address))
  }

  @Test(arguments: [Glyphs.unicode, .ascii])
  func `a QR code that does not fit is replaced by its size and the address`(glyphs: Glyphs) {
    let picture = picture(40, 12, glyphs)
    let text = picture.text
    #expect(text.contains("The QR code needs "))
    #expect(text.contains(Self.address) && text.contains(Self.code) && !text.contains("~"))
    #expect(!(0..<12).contains { row in (0..<40).contains { picture[row, $0].style.colour == .code } })
  }

  @Test
  func `for a page that phones can't reach, the view has a hint, no QR code`() {
    func text(_ page: PageReach) -> String {
      TerminalView(glyphs: .unicode).picture(of: scene(page), size: Size(columns: 80, rows: 24)).text
    }
    let here = text(.thisMachine("http://127.0.0.1:20880/"))
    let opens = "o: open it to this machine's networks."
    #expect(here.contains("http://127.0.0.1:20880/") && here.contains(opens))
    #expect(text(.off).contains(opens) && text(.off).contains("The page is closed."))
    #expect(text(.closed).contains("not open yet") && text(.network([])).contains("no network now"))
    for page in [PageReach.off, .closed, .network([]), .thisMachine("http://127.0.0.1:20880/")] {
      #expect(text(page).contains("w or Esc: back."))
      #expect(!text(page).contains("\u{2580}"))
    }
    // Key o does not close a page that an option has opened.
    let size = Size(columns: 80, rows: 24)
    #expect(
      TerminalView(glyphs: .unicode).picture(of: scene(), size: size).text.contains("o: close the page"))
    #expect(
      !TerminalView(glyphs: .unicode).picture(of: scene(isOpen: false), size: size).text.contains(
        "o: close"))
  }

  @Test
  func `the view of another machine's closed page says where to open it`() {
    func text(_ page: PageReach, _ change: (inout Scene) -> Void) -> String {
      var scene = scene(page, isOpen: page.isOpen)
      change(&scene)
      let picture = TerminalView(glyphs: .ascii).picture(of: scene, size: Size(columns: 80, rows: 24))
      return picture.text.split { $0 == " " || $0 == "\n" }.joined(separator: " ")
    }
    func elsewhere(_ scene: inout Scene) { (scene.place, scene.pairingCode) = ("192.168.7.20", nil) }
    let off = text(.off, elsewhere)
    #expect(off.contains("The page is closed."), "\(off)")
    #expect(
      off.contains("on 192.168.7.20, tactus send web/open 1: open it to that machine's networks."), "\(off)")
    // A view without the code has nothing to scan.
    let open = text(.network([Self.address]), elsewhere)
    #expect(
      open.contains("\(Self.address) tactus web on 192.168.7.20 shows the code that pairs a phone."),
      "\(open)")
    #expect(!open.contains("camera") && !open.contains("this code"), "\(open)")
    let here = text(.network([Self.address])) { $0.pairingCode = nil }
    #expect(here.contains("tactus web shows the code that pairs a phone."), "\(here)")
    let reason = "no page: port 8080 is taken"
    let closed = text(.closed) { $0.state.page.missing = [reason] }
    #expect(closed.contains("The page is not open yet. \(reason) w or Esc: back."), "\(closed)")
  }

  @Test
  func `the QR code is black on white, also in a terminal without colour`() {
    var frame = Frame(coloured: false)
    frame.draw(picture(80, 24))
    let bytes = String(decoding: frame.bytes, as: UTF8.self)
    #expect(bytes.contains("\u{1B}[0;38;5;16;48;5;231m"))
    let lines = picture(80, 24).lines
    #expect(lines.count == 24 && lines.allSatisfy { $0.hasSuffix("\u{1B}[0m") })
  }

  @Test
  func `key w shows and hides the QR code, Esc hides it, ? shows the keys`() {
    var keyboard = Keyboard()
    let state = SurfaceState()
    func press(_ key: Key) -> Scene.Page {
      #expect(keyboard.press(key, state, at: .zero) == nil)
      return keyboard.page
    }
    #expect(press(.character("w")) == .code)
    #expect(press(.character("w")) == .playing)
    #expect(press(.character("w")) == .code)
    #expect(press(.character("?")) == .keys)
    #expect(press(.character("w")) == .code)
    #expect(press(.escape) == .playing)
  }

  @Test
  func `the state of the page is restored from OSC values`() {
    for page in [
      PageReach.off, .closed, .network([]), .thisMachine("http://127.0.0.1:20880/"),
      .network(["http://192.168.7.20:20880/"]),
      .network(["http://192.168.7.20:20880/", "http://[fd00::7]:20880/"]),
    ] {
      #expect(PageReach(told: page.told) == page)
    }
    for values in [[], [.word(9), .whole(0)], [.word(2)], [.word(-1), .whole(1), .text("x")]] as [[Value]] {
      #expect(PageReach(told: values) == .unknown)
    }
  }
}
