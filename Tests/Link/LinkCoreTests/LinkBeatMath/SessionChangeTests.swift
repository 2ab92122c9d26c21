// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import Testing

/// The content of a commit of an app's captured state (facts: link 9.1).
struct SessionChangeTests {
  static let captured = SessionState(
    timeline: Timeline(tempo: Tempo(100), beatOrigin: .zero, timeOrigin: .zero),
    startStop: ClientStartStop(isPlaying: false, time: .zero, timestamp: .zero), isConnected: true, session: 7
  )

  @Test func `a commit of an unchanged state changes nothing`() {
    #expect(Self.captured.change(at: Micros(9)) == nil)
    var same = Self.captured
    same.setTempo(100, at: Micros(0))
    #expect(same.change(at: Micros(9)) == nil)
  }

  @Test func `a changed tempo leaves start and stop unchanged`() throws {
    var edited = Self.captured
    edited.setTempo(5000, at: Micros(5_000_000))
    let change = try #require(edited.change(at: Micros(9)))
    #expect(change.timeline?.tempo == Tempo(999))
    #expect(change.startStop == nil && change.at == Micros(9) && change.session == 7)
  }

  @Test func `a start leaves the tempo unchanged`() throws {
    var edited = Self.captured
    edited.setPlaying(true, at: Micros(5_000_000))
    let change = try #require(edited.change(at: Micros(9)))
    #expect(change.timeline == nil)
    #expect(
      change.startStop == ClientStartStop(isPlaying: true, time: Micros(5_000_000), timestamp: Micros(9)))
  }

  @Test func `two session states with the same values are equal`() {
    var edited = Self.captured
    edited.setPlaying(true, at: Micros(5))
    #expect(edited != Self.captured)
    edited.setPlaying(false, at: .zero)
    #expect(edited == Self.captured && edited.hashValue == Self.captured.hashValue)
  }
}
