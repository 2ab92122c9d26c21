// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusMIDI
import Testing

@testable import TactusSurface
@testable import TactusTerminal

@Suite("What the view shows only when it matters")
struct FactTests {
  static let sizes = [(40, 12), (76, 23), (80, 24), (140, 50)]

  private func texts(_ change: (inout SurfaceState) -> Void, _ glyphs: Glyphs = .ascii) -> [String] {
    Self.sizes.map { Scenes.text(Scenes.scene(beat: 9, change), $0.0, $0.1, glyphs) }
  }

  @Test
  func `the view shows a measured value only while it is not normal`() {
    for (words, usual, odd) in [
      ("drift", { $0.readings.driftPartsPerMillion = 120 }, { $0.readings.driftPartsPerMillion = -250 }),
      ("lag", { $0.readings.lagMilliseconds = -2.9 }, { $0.readings.lagMilliseconds = -4.9 }),
      (
        "last start",
        {
          $0.readings.hasLaunched = true
          $0.readings.launchErrorMilliseconds = 2.7
        },
        {
          $0.readings.hasLaunched = true
          $0.readings.launchErrorMilliseconds = -4.91
        }
      ),
      ("timebase", { $0.jack.timebase = .tactus }, { $0.jack.timebase = .other("qtractor") }),
      (
        "phase",
        {
          $0.leading = .midi
          $0.readings.leadErrorMilliseconds = 3
        },
        {
          $0.leading = .midi
          $0.readings.leadErrorMilliseconds = 3.1
        }
      ),
      ("by hand", { $0.readings.aheadMilliseconds = 0 }, { $0.readings.aheadMilliseconds = 0.5 }),
    ] as [(String, (inout SurfaceState) -> Void, (inout SurfaceState) -> Void)] {
      #expect(texts { usual(&$0) }.allSatisfy { !$0.lowercased().contains(words) }, "\(words)")
      #expect(texts { odd(&$0) }.allSatisfy { $0.lowercased().contains(words) }, "\(words)")
    }
    #expect(texts { $0.readings.driftPartsPerMillion = -250 }[2].contains("Drift         -250 ppm"))
    #expect(texts { $0.jack.isRunning = false }.allSatisfy { !$0.lowercased().contains("timebase") })
  }

  @Test
  func `the view shows jitter of one frame or more, in µs or us`() {
    func jitter(_ micros: Double) -> (inout SurfaceState) -> Void {
      {
        $0.choices.clock.isOn = true
        $0.readings.jitterMicros[.clock] = micros
      }
    }
    #expect(texts(jitter(20)).allSatisfy { !$0.contains("within") })
    #expect(texts(jitter(30))[2].contains("rolling, within 30 us"))
    #expect(texts(jitter(30), .unicode)[2].contains("rolling, within 30 \u{B5}s"))
  }

  @Test
  func `with a set list, the view has rows for the current and the next song`() {
    func set(_ place: SetPlace) -> [String] { texts { $0.place = place } }
    for (text, size) in zip(set(SetPlace(song: "Opener", coming: "Ballad")), Self.sizes) {
      #expect(text.contains("Opener") && text.contains(size.0 < 76 ? "next Ballad" : "Next          Ballad"))
    }
    for (text, size) in zip(set(SetPlace(song: "Opener", waiting: "Ballad")), Self.sizes) {
      #expect(text.contains("Opener") && text.contains(size.0 < 76 ? "waits Ballad" : "Waits         Ballad"))
      #expect(!text.lowercased().contains("next "), "\(text)")
    }
    #expect(set(SetPlace(coming: "Opener"))[2].contains("Song          none yet"))
    #expect(set(SetPlace(song: "Ballad"))[2].contains("Next          none"))
    #expect(texts { _ in }.allSatisfy { !$0.contains("Song") && !$0.contains("Next") })
  }

  @Test
  func `a tempo that waits for its bar has a row, with or without a song`() {
    func waits(_ change: @escaping (inout SurfaceState) -> Void = { _ in }) -> [String] {
      texts {
        $0.tempoWaiting = 131.5
        change(&$0)
      }
    }
    for (text, size) in zip(waits(), Self.sizes) {
      #expect(text.contains(size.0 < 76 ? "waits 131.5 BPM" : "Waits         131.5 BPM"), "\(text)")
    }
    let next = waits { $0.place = SetPlace(song: "Opener", coming: "Ballad") }[2]
    #expect(next.contains("Next          Ballad") && next.contains("Waits         131.5 BPM"))
    let both = waits { $0.place = SetPlace(song: "Opener", waiting: "Ballad") }[2]
    #expect(both.contains("Waits         131.5 BPM, Ballad"))
  }

  @Test
  func `for a start that waits, the view shows on which beat it begins`() {
    func start(_ change: @escaping (inout SurfaceState) -> Void) -> [String] {
      texts {
        $0.transport = .waiting(origin: Beats(8))
        $0.doing = .waiting
        change(&$0)
      }
    }
    let third = start { $0.startPlace = Beats(6) }
    #expect(third[1].contains("starts on beat 3 ") && !third[1].contains("of the"))
    #expect(third[3].contains("starts on beat 3 of the bar"))
    #expect(start { $0.startPlace = Beats(6.5) }[3].contains("starts in beat 3 of the bar"))
    #expect(start { $0.startPlace = Beats(8) }.dropFirst().allSatisfy { $0.contains("starts on the bar") })
    #expect(start { $0.choices.launch.moment = .beat }[1].contains("starts on the beat"))
    let now = start {
      $0.askedLaunch = .now
      $0.startPlace = Beats(6)
    }
    #expect(now.dropFirst().allSatisfy { $0.contains("starts now") })
    let stuck = start { $0.doing = .starting }
    #expect(
      stuck[1].contains("waits for JACK clients") && stuck[3].contains("JACK waits for another client"))
  }

  @Test
  func `the view shows swing beside the click, the MIDI clock and the pulses`() {
    let shown = texts {
      ($0.choices.click.isOn, $0.jack.isClickConnected) = (true, true)
      ($0.choices.clock.isOn, $0.choices.pulse.isOn) = (true, true)
      $0.choices.click.swing = Swing(share: 580, perBeat: 4)
      $0.choices.clock.swing = Swing(share: 667, perBeat: 2)
      $0.choices.pulse.swing = Swing(share: 620, perBeat: 2)
    }[3]
    #expect(
      ["swing 58/16", "swing 66.7/8", "swing 62/8"].allSatisfy { shown.contains($0) }, "\(shown)")
    #expect(!texts { _ in }[3].contains("swing"))
  }

  @Test
  func `the view shows a count-in before it is heard, and a stop that waits`() throws {
    #expect(texts { $0.choices.launch.countIn = 1 }.allSatisfy { $0.contains("bar, count-in 1") })
    let machine = try NamedOutput("drums=click countin=2")
    #expect(texts { $0.lists.outputs = [machine] }.allSatisfy { $0.contains("bar, count-in 2") })
    let now = texts {
      $0.choices.launch.moment = .now
      $0.choices.launch.countIn = 1
    }
    #expect(now.allSatisfy { !$0.contains("count-in") })
    let stopping = texts {
      $0.transport = Scenes.rolling
      $0.doing = .stopping
      $0.choices.stop = .bar
    }
    #expect(stopping.allSatisfy { $0.contains("stops on the bar") })
  }

  @Test
  func `with all optional rows, the view still has its essential rows`() throws {
    let drums = try NamedOutput("drums=clock")
    for (columns, rows) in Self.sizes.dropFirst() {
      let scene = Scenes.scene(beat: 9) {
        $0.place = SetPlace(song: "Opener", coming: "Ballad")
        $0.lists.outputs = [drums]
        $0.choices.audio.isOn = true
        $0.audio.channels = [ShownChannel(name: "Voice", isSent: true)]
        $0.readings.driftPartsPerMillion = 999
        $0.jack.timebase = .nobody
        $0.readings.aheadMilliseconds = 1
        $0.readings.hasLaunched = true
        $0.readings.launchErrorMilliseconds = 99
      }
      let text = Scenes.text(scene, columns, rows)
      for fact in ["Launch", "Song", "Next", "Page", "Outputs", "Channels", "? keys", "w page"] {
        #expect(text.contains(fact), "\(fact) at \(columns)x\(rows)\n\(text)")
      }
      let picture = TerminalView(glyphs: .ascii).picture(of: scene, size: Size(columns: columns, rows: rows))
      #expect(picture.text(row: 2).contains("####"), "\(text)")
    }
  }

  @Test
  func `the view's last row names the page's key from 76 columns on`() {
    for text in texts({ _ in }).dropFirst() { #expect(text.contains("w page  ? keys"), "\(text)") }
    var elsewhere = Scenes.scene()
    elsewhere.place = "192.168.7.20"
    #expect(!Scenes.text(elsewhere, 80, 24).contains("opens it"))
  }

  @Test
  func `in the view, accented beats look different from the other beats`() {
    for (pattern, subdivision, boxes) in [
      ("XxxXxxx", Int32(1), ":..:..."), ("", 1, ":......"), ("xXx", 1, "::..:.."),
      ("X.x.", 2, ":.:.:.:"),
    ] {
      for glyphs in [Glyphs.ascii, .unicode] {
        let scene = Scenes.scene(beat: 3.25) {
          $0.choices.meter = Meter(beatsPerBar: 7, beatType: 8)
          $0.choices.click.pattern = Pattern(pattern.utf8) ?? Pattern()
          $0.choices.click.subdivision = subdivision
        }
        let row = Scenes.text(scene, 80, 24, glyphs).split(separator: "\n", omittingEmptySubsequences: false)[
          8]
        let shown = row.split(separator: " ").map { box -> Character in
          box.first == "." || box.first == "\u{2591}"
            ? "." : box.first == ":" || box.first == "\u{2592}" ? ":" : "#"
        }
        #expect(String(shown) == boxes.dropLast() + "#", "\(pattern)\n\(row)")
      }
    }
  }

  @Test
  func `two keys move the click's offset, and the view shows the offset`() {
    var keyboard = Keyboard()
    let state = SurfaceState()
    let now = Micros(1_000_000)
    for (key, amount) in [(",", "-1"), (".", "1")] {
      let action = keyboard.press(.character(Unicode.Scalar(key)!), state, at: now)
      #expect(action == .press([Target(path: "click/offset/nudge", arguments: [amount])]))
      #expect(keyboard.isTuning(at: now) && keyboard.isTuning(at: now + Micros(3_900_000)))
      #expect(!keyboard.isTuning(at: now + Micros(4_000_000)))
    }
    for (columns, rows) in Self.sizes {
      for (offset, words) in [
        (0.0, "click offset 0 ms"), (12, "click offset 12 ms"), (-3.5, "click offset -3.5 ms"),
      ] {
        var scene = Scenes.scene { $0.choices.offsets[.click1] = .milliseconds(offset) }
        scene.isTuning = true
        let foot = Scenes.text(scene, columns, rows).split(separator: "\n").last ?? ""
        #expect(foot.hasPrefix("\(words)  , later  . earlier"), "\(foot)")
      }
    }
    // While the user types a tempo, both keys are the tempo's decimal point.
    _ = keyboard.press(.character("9"), state, at: now)
    #expect(keyboard.press(.character(","), state, at: now) == nil)
  }
}
