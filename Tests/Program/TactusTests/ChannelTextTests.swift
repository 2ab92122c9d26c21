// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import Testing

@testable import TactusApp

/// The values of the options --send and --receive.
struct ChannelTextTests {
  @Test(
    arguments: [
      ("Studio/Drums", "Studio/Drums", nil), ("Studio/*=1bar", "Studio/*", .bars(1)),
      ("Studio/Drums=150", "Studio/Drums", .time(Micros(150_000))), ("*/*=auto", "*/*", .auto),
      // These names contain equal signs.
      ("Studio/a=b", "Studio/a=b", nil), ("Studio/a=b=4beats", "Studio/a=b", .beats(4)),
      ("Studio/Drums=", "Studio/Drums=", nil), ("Studio/Drums=-", "Studio/Drums=-", nil),
      ("Studio/Drums=bars", "Studio/Drums=bars", nil),
    ] as [(String, String, AudioDelay?)])
  func `a value of --receive is a channel's name, perhaps with a delay`(
    text: String, name: String, delay: AudioDelay?
  ) throws {
    let received = try #require(ReceivedText(text))
    #expect(received.name == name)
    #expect(received.delay == delay)
  }

  @Test(arguments: [
    "", "Drums", "=1bar", "Drums=1bar", "a/\u{7}", String(repeating: "x/", count: 200),
    // A delay that is out of range is not taken for a part of the name.
    "Studio/Drums=0bars", "Studio/Drums=20beats", "Studio/Drums=5000", "Studio/Drums=-5", "Studio/*=9bars=2x",
  ])
  func `--receive refuses a text that names no channel`(text: String) {
    #expect(ReceivedText(text) == nil)
  }
}
