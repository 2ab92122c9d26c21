// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import TactusArithmetic

@Suite("Arithmetic on the tempo")
struct FormulaTests {
  private static let names = ["bpm", "beat"]

  private func value(_ text: String, bpm: Double = 120, beat: Double = 3) -> Double? {
    (try? Formula(text, names: Self.names))?.value([bpm, beat])
  }

  @Test(arguments: [
    ("60000 / bpm * 3/4", 375), ("60000 / bpm x 3/4", 375), ("60000/bpm", 500), ("1 + 2 * 3", 7),
    ("(1 + 2) * 3", 9),
    ("2 - 3 - 4", -5), ("8 / 2 / 2", 2), ("-bpm", -120), ("--bpm", 120), ("2 * -3", -6), ("-2 * -3", 6),
    ("1 - -1", 2), (".5", 0.5), ("bpm", 120), ("beat", 3), ("round(2.5)", 3), ("floor(-0.5)", -1),
    ("ceil(bpm / 7)", 18), ("round (bpm / 7) * 2", 34), ("  7  ", 7), ("((((7))))", 7),
  ])
  func `a tempo formula has the value that a calculator gives`(text: String, result: Double) throws {
    #expect(try Formula(text, names: Self.names).value([120, 3]) == result)
  }

  @Test(arguments: [
    ("", "number is missing"), ("bpm *", "number is missing"), ("* 3", "number is missing"),
    ("(1", ") is missing"),
    ("1)", "operator is missing"), ("1 2", "operator is missing"), ("bmp", "there is no bmp, but bpm"),
    ("1.2.3", "no number"), ("round 3", "needs its bracket"), ("round()", "number is missing"),
    ("BPM", "number is missing"), ("1e5", "operator is missing"), ("\u{0}", "number is missing"),
    ("bpm\u{202E}", "operator is missing"), (".", "no number"), ("nan", "there is no nan"),
    (String(repeating: "1", count: 129), "at most 128"),
    (String(repeating: "(", count: 17) + "1", "more than 16 nested brackets"),
    (String(repeating: "round(", count: 17) + "1", "more than 16 nested brackets"),
  ])
  func `text that is no tempo formula is refused with a helpful message`(text: String, words: String) {
    do throws(Formula.Fault) {
      _ = try Formula(text, names: Self.names)
      Issue.record("taken: \(text)")
    } catch {
      #expect(error.text.contains(words), "\(error.text)")
    }
  }

  @Test(arguments: ["1 / 0", "0 / 0", "bpm / (bpm - 120)", "-1 / (beat - 3)"])
  func `a formula that divides by zero gives nil, not infinity or NaN`(text: String) throws {
    let formula = try Formula(text, names: Self.names)
    #expect(formula.value([120, 3]) == nil)
    #expect(formula.value([]) == nil || !text.contains("b"))
  }

  @Test
  func `a formula with 16 nested brackets or of the longest length is computed`() {
    let brackets = String(repeating: "(", count: 16) + "bpm" + String(repeating: ")", count: 16)
    #expect(value(brackets) == 120)
    #expect(value(String(repeating: "-", count: 125) + "bpm") == -120)
    #expect(value(String(repeating: "9", count: 128)) != nil)
    #expect(value(String(repeating: "9*", count: 63) + "9")?.isFinite == true)
  }

  @Test
  func `every short text as a formula gives a finite number or nil`() {
    let letters = Array("0.7()+-*/x bround")
    var texts = [""]
    for _ in 0..<4 { texts = texts.flatMap { text in letters.map { text + String($0) } } + [""] }
    for text in texts {
      guard let formula = try? Formula(text, names: ["b"]) else { continue }
      for b in [0, -1, 1e308, .infinity, .nan] { #expect(formula.value([b])?.isFinite != false, "\(text)") }
    }
  }

  @Test
  func `long random texts as a formula give a finite number or nil`() {
    var state: UInt64 = 20
    for _ in 0..<20_000 {
      var text = ""
      for _ in 0..<60 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        text +=
          ["(", ")", "bpm", "beat", "7", ".5", "+", "-", "*", "/", " ", "round(", "x"][
            Int(state >> 33) % 13]
      }
      if let formula = try? Formula(text, names: Self.names) {
        #expect(formula.value([0, 0])?.isFinite != false, "\(text)")
      }
    }
  }
}
