// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusSurface
import TactusTestSupport
import Testing

@testable import TactusTerminal

@Suite("The bytes for a terminal")
struct FrameTests {
  @Test
  func `the view's picture fills the terminal through 1500 window sizes`() {
    var dice = Dice(seed: 1500)
    let view = TerminalView(glyphs: .unicode)
    var scene = Scenes.scene(beat: 9) { $0.choices.syncsStartStop = true }
    var frame = Frame(coloured: true)
    for step in 0..<1500 {
      let most = step % 300 == 0 ? (600, 300) : (100, 40)
      let size = Size(
        columns: Int.random(in: 1...most.0, using: &dice), rows: Int.random(in: 1...most.1, using: &dice))
      scene.page = step % 7 == 0 ? .keys : .playing
      let picture = view.picture(of: scene, size: size)
      #expect(picture.size == size)
      frame.draw(picture)
      #expect(!frame.bytes.isEmpty)
    }
  }

  @Test
  func `after every frame the terminal shows the new picture`() {
    for coloured in [true, false] {
      var frame = Frame(coloured: coloured)
      var screen = ScreenReader(Size(columns: 80, rows: 24))
      for step in stride(from: 0, to: 400, by: 3) {
        var scene = Scenes.scene { $0.transport = step < 300 ? Scenes.rolling : .stopped(at: Beats(3)) }
        scene.now = Micros(Int64(step) * 33_333)
        scene.page = step % 97 > 90 ? .keys : .playing
        if step % 50 > 40 { scene.news = News("\(step) Links", at: scene.now) }
        let size = step % 120 > 100 ? Size(columns: 40, rows: 12) : Size(columns: 80, rows: 24)
        if size != screen.picture.size { screen = ScreenReader(size) }
        let picture = TerminalView(glyphs: .unicode).picture(of: scene, size: size)
        frame.draw(picture)
        screen.obey(frame.bytes)
        #expect(screen.picture.text == picture.text)
        if coloured { #expect(screen.picture == picture) }
      }
      #expect(screen.isColoured == coloured)
    }
  }

  @Test
  func `only changed cells are written to the terminal`() {
    var frame = Frame(coloured: true)
    let view = TerminalView(glyphs: .unicode)
    let size = Size(columns: 80, rows: 24)
    var scene = Scenes.scene { $0.transport = Scenes.rolling }
    frame.draw(view.picture(of: scene, size: size))
    let whole = frame.bytes.count
    frame.draw(view.picture(of: scene, size: size))
    #expect(frame.bytes.isEmpty)
    var total = 0
    for step in 1...30 {
      scene.now = Micros(Int64(step) * 33_333)
      frame.draw(view.picture(of: scene, size: size))
      total += frame.bytes.count
    }
    #expect(whole > 1500 && total < whole, "\(whole), and \(total) in the second after it")
  }

  @Test
  func `cells beyond the byte limit of one screen update come with the next`() {
    var frame = Frame(coloured: true)
    let size = Size(columns: 200, rows: 80)
    var picture = Picture(size)
    for row in 0..<size.rows {
      for column in 0..<size.columns {
        picture[row, column] = Cell(
          scalar: "\u{2588}", style: Style(column % 2 == 0 ? .downbeat : .beat, bold: row % 2 == 0))
      }
    }
    var screen = ScreenReader(size)
    var frames = 0
    repeat {
      frame.draw(picture)
      #expect(frame.bytes.count <= Frame.limit)
      screen.obey(frame.bytes)
      frames += 1
    } while !frame.bytes.isEmpty && frames < 1000
    #expect(frames > 2 && screen.picture == picture)
  }

  @Test
  func `after forget(), the whole screen is drawn again`() {
    var frame = Frame(coloured: false)
    let picture = TerminalView(glyphs: .ascii).picture(of: Scenes.scene(), size: Size.smallest)
    frame.draw(picture)
    let first = frame.bytes
    frame.forget()
    frame.draw(picture)
    #expect(frame.bytes == first && first.starts(with: Array("\u{1B}[0m\u{1B}[2J".utf8)))
  }
}
