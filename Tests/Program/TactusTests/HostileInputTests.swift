// SPDX-License-Identifier: GPL-2.0-or-later
import TactusJSON5
import TactusTestSupport
import Testing

@testable import TactusApp

/// Kinds of hostile input that once were tried by hand and did no harm. They must never do harm.
@Suite("Hostile input")
struct HostileInputTests {
  private static let values = [
    "", " ", "-", "--", "=", "-1", "0", "1", "65536", "99999999999999999999", "1e999", "nan", "inf", "120,5",
    "4/0", "0/4", "Xx.", "a=b", "*=*", "::", "[::1]:9", "300.0.0.1", "127.0.0.1:0", "10.0.0.0/33", "host",
    "always",
    "note 1 = start", "cc 999 = x", "= =", "\u{0}", "\u{1B}[31m", "\n", "\u{202E}", "🥁", "\u{FFFD}", "%s%n",
    "../../x",
    String(repeating: "a", count: 5000), String(repeating: "1", count: 400),
    String(repeating: ",", count: 300),
  ]

  /// Requires that the text is one printable line.
  private func judge(_ text: String, _ what: some Any) {
    let isPlain = text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    if text.isEmpty || !isPlain || text.count > 400 { Issue.record("\(what): \(text.prefix(500))") }
  }

  @Test
  func `random arguments are accepted, or refused in one line`() {
    var dice = Dice(seed: 20_261_122)
    var refused = 0
    func word() -> String {
      let option = Configuration.options.randomElement(using: &dice)!
      let value = Self.values.randomElement(using: &dice)!
      switch Int.random(in: 0..<8, using: &dice) {
      case 0: return "--\(option.long)"
      case 1, 2: return "--\(option.long)=\(value)"
      case 3: return "--no-\(option.long)"
      case 4: return option.short.map { "-\($0)" } ?? "-Z"
      case 5: return option.short.map { "-\($0)\(value)" } ?? value
      case 6: return "--\(value)"
      default: return value
      }
    }
    for _ in 0..<7000 {
      let list = (0..<Int.random(in: 1...5, using: &dice)).map { _ in word() }
      do throws(UserError) {
        let configuration = try Configuration(arguments: list)
        // Whatever was accepted as a configuration can also be used.
        _ = configuration.surfaceSettings
        _ = configuration.standingConnections
      } catch {
        refused += 1
        judge(error.text, list)
      }
    }
    #expect((1000...6900).contains(refused), "\(refused): a test that judges nothing")
  }

  @Test
  func `damaged files are read, or refused with one line per mistake`()
    throws
  {
    var dice = Dice(seed: 730)
    let memory = """
      // comment
      {"tempo": {"is": 131.1, "over": 120}, "link": {"is": false, "over": true}, "click-offset": {"is": -7.25, "over": 0},
       "midi-learned": {"is": ["note 38 ch 10 = tempo/tap"], "over": []}}
      """
    let configuration =
      "{tempo: 96, 'click-when': 'rolling', \"osc-listen\": [\"192.168.7.2\"], server: null, midi: ['cc 7 = start']}"
    var refused = 0
    for round in 0..<3000 {
      var bytes = Array((round % 2 == 0 ? memory : configuration).utf8)
      for _ in 0...Int.random(in: 0..<4, using: &dice) where !bytes.isEmpty {
        let place = Int.random(in: 0..<bytes.count, using: &dice)
        switch Int.random(in: 0..<4, using: &dice) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &dice)
        case 1: bytes.remove(at: place)
        case 2: bytes.insert(contentsOf: bytes[place...].prefix(9), at: place)
        default: bytes = Array(bytes[...place])
        }
      }
      do throws(UserError) {
        var settings = Configuration()
        if round % 2 == 0 {
          let state = try UserState(bytes, from: "/f")
          state.apply(to: &settings, over: Configuration())
          // Writing the state and reading it again changes nothing.
          let again = try UserState(Array(state.text.utf8), from: "/f")
          #expect(again.text == state.text)
        } else {
          try ConfigurationFile.apply(bytes, from: "/f", to: &settings)
          _ = settings.surfaceSettings
        }
      } catch {
        refused += 1
        for line in error.text.split(separator: "\n") {
          judge(String(line), String(decoding: bytes, as: UTF8.self))
          #expect(line.hasPrefix("/f:"))
        }
      }
    }
    #expect((500...2900).contains(refused), "\(refused): a test that judges nothing")
  }
}
