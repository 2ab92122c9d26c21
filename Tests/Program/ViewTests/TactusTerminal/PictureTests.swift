// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusSurface
import Testing

@testable import TactusTerminal

@Suite("The picture of the view")
struct PictureTests {
  static let sizes = [(40, 12), (80, 24), (200, 60)]

  @Test(arguments: sizes)
  func `the view shows the essential facts at every size`(columns: Int, rows: Int) {
    var scene = Scenes.scene(beat: 9) {
      $0.transport = Scenes.rolling
      $0.choices.syncsStartStop = true
      $0.choices.click.isOn = true
      $0.choices.click.when = .always
      $0.choices.clock.isOn = true
      $0.choices.launch.countIn = 2
    }
    scene.reach = .network(["192.168.7.5:20809"], port: 20809)
    scene.news = News("back on JACK server", at: scene.now - Micros(10_000_000))
    let text = Scenes.text(scene, columns, rows)
    for words in [
      "Ableton Link", "Enabled", "1 Link", "sync on", "rolling", "bar, count-in 2", "always",
      "192.168.7.5:20809", "back on JACK server", "OSC", "Link leads",
    ] {
      // The small layout shows a fact as a sentence; the large layout shows it as a label and a value.
      let parts =
        columns < 76 ? [words] : words.split(separator: " ").map(String.init).filter { $0 != "leads" }
      for part in parts {
        #expect(text.contains(part) || text.contains(part.capitalizedFirst), "\(part) in\n\(text)")
      }
    }
    if columns < 76 { #expect(text.contains("bar 3|2"), "\(text)") }
  }

  @Test(arguments: sizes)
  func `the view shows the tempo with two decimals, and one peer as "1 Link"`(columns: Int, rows: Int) {
    for (peers, words) in [(0, "No Links"), (1, "1 Link"), (2, "2 Links"), (13, "13 Links")] {
      let text = Scenes.text(Scenes.scene { $0.link.peers = peers }, columns, rows)
      #expect(text.contains(words) && text.contains(words + "s") == false, "\(text)")
    }
    for (tempo, words) in [(127.35, "127.35"), (59.998, "60.00"), (20, "20.00"), (998.5, "998.50")] {
      let scene = Scenes.scene { $0.timeline.tempo = Tempo(tempo) }
      #expect(Facts(scene).tempo == words)
    }
  }

  @Test
  func `the view draws the tempo in digits at least five rows high`() {
    let view = TerminalView(glyphs: .ascii)
    for (columns, rows, left, height) in [(40, 12, 0, 5), (80, 24, 2, 5), (170, 50, 2, 25)] {
      let picture = view.picture(of: Scenes.scene(), size: Size(columns: columns, rows: rows))
      var tempo = BigText(text: "120.00", across: columns == 40 ? 1 : columns == 80 ? 2 : 5)
      tempo.down = height / BigText.dots
      var expected = Picture(picture.size)
      let top = columns == 40 ? 1 : 2
      tempo.draw(on: &expected, row: top, column: left, glyph: "#", style: .bold)
      let area = (top..<top + height, left..<left + tempo.columns)
      #expect(
        Scenes.bigText(picture, rows: area.0, columns: area.1)
          == Scenes.bigText(expected, rows: area.0, columns: area.1), "\(columns)x\(rows)\n\(picture.text)")
    }
  }

  @Test
  func `the view's lit box is the beat that sounds, to the microsecond`() {
    func lit(_ time: Int64, _ change: (inout SurfaceState) -> Void = { _ in }) -> [Int] {
      var scene = Scenes.scene(change)
      scene.now = Micros(time)
      let text = Scenes.text(scene, 80, 24).split(separator: "\n", omittingEmptySubsequences: false)[8]
      // All boxes have the same width, with a gap of two columns between them.
      let boxes = text.split(separator: " ").map(String.init)
      return boxes.indices.filter { boxes[$0].hasPrefix("#") }
    }
    #expect(lit(0) == [0])
    #expect(lit(499_999) == [0])
    #expect(lit(500_000) == [1])
    #expect(lit(1_999_999) == [3])
    #expect(lit(2_000_000) == [0])
    // While stopped, the row of boxes shows a bar of the meter if the meter fits the session's quantum,
    // otherwise the beats of the quantum. While rolling, it shows a bar of the song's meter.
    #expect(lit(3_000_000) { $0.choices.quantum = 8 } == [2])
    #expect(
      lit(3_000_000) {
        $0.choices.quantum = 8
        $0.choices.meter = Meter(beatsPerBar: 3)
      } == [6])
    let seven = Meter(beatsPerBar: 7, beatType: 8)
    #expect(lit(1_500_000) { $0.choices.meter = seven } == [6])
    #expect(lit(1_499_999) { $0.choices.meter = seven } == [5])
    #expect(lit(1_750_000) { $0.choices.meter = seven } == [0])
    // If the user has set a quantum, the boxes are its quarters.
    #expect(
      lit(1_500_000) {
        $0.choices.meter = seven
        $0.choices.quantum = 4
      } == [3])
    #expect(
      lit(3_000_000) {
        $0.choices.quantum = 8
        $0.choices.meter = Meter(beatsPerBar: 3, beatType: 4)
        $0.transport = .rolling(origin: Beats(4))
      } == [2])
  }

  @Test
  func `the view's line below the beats follows the sound through the bar`() {
    var last = -1
    for step in 0..<200 {
      var scene = Scenes.scene { $0.transport = Scenes.rolling }
      scene.now = Micros(Int64(step) * 10_000)
      let rows = Scenes.text(scene, 80, 24).split(separator: "\n", omittingEmptySubsequences: false)
      let passed = rows[11].count { $0 == "=" }
      #expect(abs(passed - step * 76 / 200) <= 1, "\(step): \(passed)")
      #expect(passed >= last)
      last = passed
    }
    #expect(last >= 74)
  }

  @Test
  func `the view counts down to a start that waits, in whole beats`() {
    for (beat, left) in [(4.0, 4), (4.1, 4), (5.0, 3), (7.01, 1), (7.99, 1)] {
      let scene = Scenes.scene(beat: beat) { $0.transport = .waiting(origin: Beats(8)) }
      #expect(Scenes.text(scene, 40, 12).contains("count-in \(left)"), "\(beat)")
      #expect(Scenes.text(scene, 80, 24).contains("count-in"))
      #expect(Scenes.text(scene, 80, 24).contains("starts on the bar"))
    }
  }

  @Test
  func `the view's bars and beats are the song's, and stop with the transport`() {
    for (beat, transport, shown) in [
      (9.5, SurfaceState.Transport.rolling(origin: .zero), "bar 3|2"),
      (9.5, .rolling(origin: Beats(8)), "bar 1|2"),
      (9.5, .stopped(at: Beats(16)), "bar 5|1"),
      (9.5, .stopped(at: .zero), "bar 1|1"),
    ] {
      #expect(Scenes.text(Scenes.scene(beat: beat) { $0.transport = transport }, 40, 12).contains(shown))
    }
  }

  @Test
  func `the view shows each offset that is not 0 beside its output`() {
    let plain = Scenes.text(Scenes.scene { $0.choices.click.isOn = true }, 80, 24)
    #expect(!plain.contains("offset"), "\(plain)")
    let scene = Scenes.scene {
      $0.choices.click.isOn = true
      $0.choices.clock.isOn = true
      $0.choices.offsets[.click1] = .milliseconds(50.67)
      $0.choices.offsets[.clock] = .milliseconds(-8)
      $0.choices.offsets[.pulse] = .milliseconds(1.5)
      $0.choices.offsets[.run] = Micros(0)
      $0.choices.offsets[.jack] = .milliseconds(-10.7)
    }
    let text = Scenes.text(scene, 80, 24)
    for words in [
      "rolling, offset 50.67 ms", "rolling, offset -8 ms", "off, offset 1.5 ms, run 0 ms",
      "tactus, offset -10.7 ms",
    ] {
      #expect(text.contains(words), "\(words)\n\(text)")
    }
    let small = Scenes.text(scene, 40, 12)
    #expect(small.contains("click rolling +50.67") && small.contains("clock rolling -8"), "\(small)")
  }

  @Test
  func `the view shows a missing server, a leader, and Link off or resting`() {
    for (words, change) in [
      ("no JACK server", { $0.jack.isRunning = false }),
      ("Disabled", { $0.choices.isLinkEnabled = false }),
      ("resting", { $0.link.isActive = false }),
      ("2 Links", { $0.link.peers = 2 }),
      ("No Links", { $0.link.peers = 0 }),
      (
        "leads",
        {
          $0.leading = .host
          $0.jack.timebase = .other("ardour")
        }
      ),
    ] as [(String, (inout SurfaceState) -> Void)] {
      for (columns, rows) in Self.sizes {
        let text = Scenes.text(Scenes.scene(change), columns, rows)
        #expect(text.contains(words) || text.contains(words.capitalizedFirst), "\(text)")
      }
    }
    let led = Scenes.scene {
      $0.leading = .host
      $0.jack.timebase = .other("ardour")
    }
    #expect(Scenes.text(led, 80, 24).contains("ardour"))
  }

  @Test
  func `the view shows the address for a tablet, or how to get one`() {
    var scene = Scenes.scene()
    scene.reach = .network(["10.0.0.7:20809", "192.168.1.2:20809"], port: 20809)
    #expect(Scenes.text(scene, 80, 24).contains("10.0.0.7:20809"))
    #expect(Scenes.text(scene, 80, 24).contains("192.168.1.2:20809"))
    #expect(Scenes.text(scene, 40, 12).contains("OSC 10.0.0.7:20809"))
    scene.reach = .thisMachine(port: 20809)
    #expect(Scenes.text(scene, 80, 24).contains("--osc-listen=0.0.0.0"))
    #expect(Scenes.text(scene, 40, 12).contains("--osc-listen=0.0.0.0"))
    scene.reach = .network([], port: 20809)
    #expect(Scenes.text(scene, 80, 24).contains("no network"))
    scene.reach = .closed
    for (columns, rows) in [(80, 24), (40, 12)] {
      #expect(Scenes.text(scene, columns, rows).contains("not open yet"))
      #expect(!Scenes.text(scene, columns, rows).contains("--no-osc"))
    }
    scene.reach = .off
    #expect(Scenes.text(scene, 80, 24).contains("--no-osc"))
  }

  @Test
  func `the view shows which source leads the tempo, and the chosen mode`() {
    for (lead, clock, leading, words, brief) in [
      (Lead.link, .off, Lead.link, "Ableton Link", "Link leads"),
      (.host, .off, .link, "Ableton Link (lead host: no host yet)", "Link, no host"),
      (.auto, .off, .link, "Ableton Link (lead auto: no host yet)", "Link, no host"),
      (.auto, .off, .host, "ardour (lead auto)", "JACK leads"),
      (.midi, .silent, .link, "Ableton Link (lead midi: no clock yet)", "Link, no clock"),
      (.midi, .lost, .link, "Ableton Link (lead midi: clock lost)", "Link, no clock"),
      (.midi, .echo, .link, "Ableton Link (lead midi: own clock)", "Link, no clock"),
      (.midi, .locked(Tempo(120)), .midi, "MIDI clock (lead midi)", "MIDI leads"),
    ] as [(Lead, SurfaceState.MIDIClockIn, Lead, String, String)] {
      let scene = Scenes.scene {
        ($0.choices.lead, $0.midiClock, $0.leading) = (lead, clock, leading)
        if leading == .host { $0.jack.timebase = .other("ardour") }
      }
      #expect(Scenes.text(scene, 132, 43).contains(words), "\(words)")
      #expect(Scenes.text(scene, 40, 12).contains(brief), "\(brief)")
      for columns in [76, 80] {
        let row = Scenes.text(scene, columns, 24).split(separator: "\n").first { $0.contains("Leads") } ?? ""
        #expect(!row.contains("~") && (lead == .link || row.contains("\(lead)")), "\(row)")
      }
    }
  }

  @Test
  func `the view shows that the click is unconnected, unless it is off`() {
    func texts(_ change: @escaping (inout SurfaceState) -> Void) -> [String] {
      let scene = Scenes.scene {
        $0.choices.click.isOn = true
        $0.choices.click.when = .always
        $0.jack.isClickConnected = false
        change(&$0)
      }
      return PictureTests.sizes.map { Scenes.text(scene, $0.0, $0.1) }
    }
    #expect(texts { _ in }.allSatisfy { $0.contains("not connected") })
    #expect(texts { _ in }[1].contains("Click    not connected, always, beep"))
    #expect(
      texts { $0.choices.offsets[.click1] = .milliseconds(50.67) }.allSatisfy { $0.contains("not connected") }
    )
    for change in [
      { $0.choices.click.isOn = false }, { $0.jack.isClickConnected = true }, { $0.jack.isRunning = false },
    ] as [(inout SurfaceState) -> Void] {
      #expect(texts(change).allSatisfy { !$0.contains("not connected") })
    }
  }

  @Test
  func `the view shows the page's address beside the OSC address`() {
    for (page, words, brief) in [
      (PageReach.off, "off (o opens it)", "page off"), (.closed, "not open yet", "page not open"),
      (.thisMachine("http://127.0.0.1:20880/"), "127.0.0.1:20880, here only", "page here"),
      (.network([]), "open, but no network now", "page not open"),
      (
        .network(["http://192.168.100.120:20880/", "http://studio.local:20880/"]),
        "open at 192.168.100.120:20880", "page open"
      ),
    ] {
      let scene = Scenes.scene { $0.page.reach = page }
      let row = Scenes.text(scene, 80, 24).split(separator: "\n").first { $0.contains(" Page ") } ?? ""
      #expect(row.hasSuffix("Page     \(words)"), "\(row)")
      #expect(Scenes.text(scene, 40, 12).contains(brief), "\(brief)")
    }
    let wide = Scenes.text(Scenes.scene { $0.page.reach = .network(["http://10.0.0.7:20880/"]) }, 132, 43)
    #expect(wide.contains("open at http://10.0.0.7:20880/"))
  }

  @Test
  func `a long message uses the view's free rows, and is cut if none is free`() {
    var scene = Scenes.scene()
    let words = "this is what a complaint with many words says"
    scene.news = News((1...3).map { "\($0) \(words)" }.joined(separator: " "), at: scene.now)
    scene.earlierNews = News("JACK server gone", at: .zero)
    let text = Scenes.text(scene, 80, 25)
    let read = text.split(separator: "\n").suffix(4).dropLast().joined(separator: " ")
      .split(separator: " ").joined(separator: " ")
    #expect(read.hasSuffix("1 \(words) 2 \(words) 3 \(words)"), "\(text)")
    #expect(!text.contains("~") && text.contains("Leads") && text.contains("? keys"))
    #expect(Scenes.text(scene, 40, 12).contains("~"))
    for rows in 23...60 {
      for columns in [76, 80, 200] { #expect(Scenes.text(scene, columns, rows).contains("Leads")) }
    }
  }

  @Test
  func `a message in the view stands out for 2 s and stays until the next`() {
    var scene = Scenes.scene()
    scene.now = Micros(10_000_000)
    for (age, inverse) in [(0, true), (1_999_999, true), (2_000_000, false), (9_000_000, false)] {
      scene.news = News("1 Link", at: scene.now - Micros(Int64(age)))
      for (columns, rows) in Self.sizes {
        let picture = TerminalView(glyphs: .ascii).picture(
          of: scene, size: Size(columns: columns, rows: rows))
        #expect(picture.text(row: rows - 2).contains("1 Link"))
        #expect(picture[rows - 2, columns < 76 ? 1 : 3].style.isInverse == inverse)
      }
    }
  }

  @Test
  func `the view shows the second-newest message if there is room`() {
    var scene = Scenes.scene()
    scene.earlierNews = News("JACK server gone", at: .zero)
    scene.news = News("back on JACK server", at: .zero)
    #expect(Scenes.text(scene, 80, 24).contains("JACK server gone"))
    #expect(!Scenes.text(scene, 40, 12).contains("JACK server gone"))
    for rows in 23...40 { #expect(Scenes.text(scene, 76, rows).contains("Leads")) }
  }

  @Test
  func `the boxes of the beats and the line below them have the same width`() {
    for (columns, first) in [(80, 2), (93, 2), (40, 0), (55, 0)] {
      for beats in 1...20 {
        let scene = Scenes.scene(beat: Double(beats) - 0.001) {
          $0.transport = Scenes.rolling
          $0.choices.meter = Meter(beatsPerBar: Int32(beats), beatType: 4)
        }
        let rows = Scenes.text(scene, columns, columns < 76 ? 12 : 24)
          .split(separator: "\n", omittingEmptySubsequences: false)
        let boxes = rows[columns < 76 ? 6 : 8]
        #expect(boxes.count == columns - first && boxes.hasSuffix("#"), "\(beats) beats\n\(boxes)")
      }
    }
  }

  @Test
  func `the view is complete at every size; a tiny terminal gets a message`() {
    var states: [Scene] = [Scenes.scene()]
    for quantum in [0.0, 0.5, 1, 7, 64, 1e9] {
      states.append(Scenes.scene(beat: 3.7) { $0.choices.quantum = quantum })
    }
    states.append(Scenes.scene(beat: -1e6) { $0.transport = .waiting(origin: Beats(1e12)) })
    states.append(
      Scenes.scene(beat: 1e9) {
        $0.transport = Scenes.rolling
        $0.choices.meter = Meter(beatsPerBar: 64, beatType: 32)
      })
    states.append(Scenes.scene { $0.timeline.tempo = Tempo(.nan) })
    states.append(
      Scenes.scene {
        $0.readings.driftPartsPerMillion = .infinity
      })
    for columns in [1, 7, 39, 40, 41, 49, 56, 57, 63, 75, 76, 77, 80, 84, 133, 350] {
      for rows in [1, 11, 12, 13, 17, 22, 23, 24, 30, 70] {
        let size = Size(columns: columns, rows: rows)
        for scene in states where columns % 7 == 0 || scene.state.choices.quantum == 4 {
          for page in [Scene.Page.playing, .keys] {
            var scene = scene
            scene.page = page
            let picture = TerminalView(glyphs: .ascii).picture(of: scene, size: size)
            #expect(picture.size == size)
            guard columns >= 40, rows >= 12 else { continue }
            #expect(picture.text.contains(page == .keys ? "start/stop" : "Enabled"), "\(columns)x\(rows)")
          }
        }
      }
    }
    #expect(Scenes.text(Scenes.scene(), 39, 12).contains("40x12"))
    #expect(Scenes.text(Scenes.scene(), 40, 11).contains("40x12"))
    #expect(!Scenes.text(Scenes.scene(), 40, 12).contains("40x12"))
  }

  @Test
  func `names and messages from other programs can't control the terminal`() {
    var scene = Scenes.scene { $0.jack.timebase = .other("a\u{1B}[2J\u{9B}31m\u{0}b\u{200B}\u{301}\u{4E2D}") }
    scene.news = News("\u{1B}]0;x\u{7}\r\n\t" + String(repeating: "y", count: 100_000), at: scene.now)
    for (columns, rows) in Self.sizes {
      let picture = TerminalView(glyphs: .unicode).picture(
        of: scene, size: Size(columns: columns, rows: rows))
      for row in 0..<rows {
        for column in 0..<columns {
          let value = picture[row, column].scalar.value
          #expect(value >= 0x20 && !(0x7F...0xA0).contains(value) && value < 0x2600)
          #expect(!(0x300...0x36F).contains(value) && value != 0x200B)
        }
      }
    }
  }

  @Test
  func `without colour, the current beat and the downbeat still look different`() {
    for glyphs in [Glyphs.ascii, .unicode] {
      let now = Scenes.text(Scenes.scene(beat: 0.5), 40, 12, glyphs).split(separator: "\n")[6]
      let then = Scenes.text(Scenes.scene(beat: 1.5), 40, 12, glyphs).split(separator: "\n")[6]
      #expect(Set(now).subtracting([" "]).count == 2)
      #expect(Set(then).subtracting([" "]).count == 3)
    }
  }
}

extension String {
  var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}

@Suite("A user's own outputs in the view")
struct OwnOutputPictureTests {
  @Test(arguments: [(76, 23), (80, 24), (200, 60)])
  func `own outputs have a line in the view, and all other facts stay`(columns: Int, rows: Int) throws {
    func scene(_ texts: String...) throws -> Scene {
      var outputs: [NamedOutput] = []
      for text in texts { outputs.append(try NamedOutput(text)) }
      return Scenes.scene(beat: 9) {
        $0.lists.outputs = outputs
        var health = OutputHealth()
        health.state = "waits"
        $0.jack.outputHealth["drums"] = health
      }
    }
    let none = try Scenes.text(scene(), columns, rows)
    #expect(!none.contains("Outputs"))
    let text = try Scenes.text(scene("drums=clock", "ppq=pulse rate=24"), columns, rows)
    let line = try #require(text.split(separator: "\n").first { $0.contains("Outputs") })
    #expect(line.contains("drums waits, ppq"))
    for fact in ["Ableton Link", "Start/stop", "Launch", "Leads", "Quantum", "OSC", "Page", "? "] {
      #expect(text.contains(fact) || !none.contains(fact), "\(fact)")
    }
  }

  @Test(arguments: [(80, 24), (80, 36), (80, 48), (200, 60)])
  func `own outputs use as many of the view's lines as are free`(
    columns: Int, rows: Int
  ) throws {
    let outputs = try (1...32).map { try NamedOutput("machine-\($0)=clock") }
    let scene = Scenes.scene(beat: 9) { $0.lists.outputs = outputs }
    let lines = Scenes.text(scene, columns, rows).split(separator: "\n", omittingEmptySubsequences: false)
    let first = try #require(lines.firstIndex { $0.contains("Outputs") })
    let shown = lines[first..<min(first + 8, lines.count)].joined(separator: "\n")
    let all = (1...32).allSatisfy { shown.contains("machine-\($0)\($0 < 32 ? "," : "")") }
    #expect(all == (rows >= 36), "\(shown)")
    for fact in ["Ableton Link", "Start/stop", "Launch", "Leads", "Quantum", "OSC", "Page", "? "] {
      #expect(lines.contains { $0.contains(fact) }, "\(fact)")
    }
  }
}

@Suite("Link Audio in the view")
struct ChannelPictureTests {
  @Test(arguments: [(76, 23), (80, 24), (200, 60)], [false, true])
  func `Link Audio channels have a line with their state; other facts stay`(
    size: (columns: Int, rows: Int), hasOutputs: Bool
  ) throws {
    func scene(_ channels: ShownChannel...) throws -> Scene {
      let output = try NamedOutput("drums=clock")
      return Scenes.scene(beat: 9) {
        $0.choices.audio.isOn = true
        $0.audio.channels = channels
        if hasOutputs { $0.lists.outputs = [output] }
      }
    }
    var drums = ShownChannel(name: "Studio/Drums", isSent: false)
    (drums.state, drums.delayMilliseconds, drums.dropouts) = (.plays, 20, 2)
    var voice = ShownChannel(name: "Voice", isSent: true)
    voice.listeners = 3
    let none = try Scenes.text(scene(), size.columns, size.rows)
    #expect(!none.contains("Channels"))
    let text = try Scenes.text(scene(drums, voice), size.columns, size.rows)
    let line = try #require(text.split(separator: "\n").first { $0.contains("Channels") })
    #expect(line.contains("Studio/Drums (plays, 20 ms, 2 gaps); sends Voice (3)"))
    let other = try Scenes.text(scene(voice), size.columns, size.rows)
    #expect(other.contains("  sends Voice (3)"))
    for fact in [
      "Ableton Link", "Start/stop", "Launch", "Leads", "Quantum", "OSC", "Audio", "Page", "? ", "Outputs",
    ] {
      #expect(text.contains(fact) || !none.contains(fact), "\(fact)")
    }
  }
}
