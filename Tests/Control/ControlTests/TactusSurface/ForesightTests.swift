// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusOSC
import Testing

@testable import TactusSurface

/// The surface announces a change that waits for a beat to the program ahead of that beat.
@Suite("Queued changes are announced")
struct ForesightTests {
  private static let songs = [
    "Fast = tempo 128, meter 7 8, click/pattern X..x", "Slow = tempo/half, click/gain 1",
    "Quiet = click/gain 0", "Waltz = meter 3 4, tempo 90 bar",
  ]

  /// A desk whose song rolls from the session's beat 0; the session is at beat 5.3.
  private func desk() throws -> Desk {
    var desk = Desk(.paired)
    let songs = try Self.songs.map { try SetSong($0) }
    desk.update {
      $0.lists.songs = songs
      $0.transport = .rolling(origin: .zero)
    }
    desk.now = desk.program.state.time(atSessionBeats: Beats(5.3))
    desk.forget()
    return desk
  }

  private func queuedChanges(of desk: Desk) -> [QueuedChange?] { desk.queued.map(\.change) }

  @Test
  func `a song's tempo and meter are announced before the song's bar`() throws {
    var desk = try desk()
    desk.send("/tactus/set/go", .int32(1), .string("bar"))
    let change = QueuedChange(at: Beats(8), tempo: Tempo(128), meter: Meter(beatsPerBar: 7, beatType: 8))
    #expect(queuedChanges(of: desk) == [change] && desk.orders.isEmpty)
    desk.wait(2)
    #expect(queuedChanges(of: desk) == [change, nil])
    #expect(desk.program.state.tempo == Tempo(128) && desk.program.state.choices.meter == change.meter)
    #expect(desk.queued.last?.orders == desk.orders.count)
  }

  @Test
  func `the newest waiting tempo is announced, unless a song drops it`() throws {
    var desk = try desk()
    desk.send("/tactus/tempo", .float32(150), .string("bar"))
    desk.send("/tactus/tempo", .float32(90), .string("beat"))
    #expect(
      queuedChanges(of: desk) == [
        QueuedChange(at: Beats(8), tempo: Tempo(150)), QueuedChange(at: Beats(6), tempo: Tempo(90)),
      ])
    desk.send("/tactus/set/go", .int32(3))
    #expect(queuedChanges(of: desk).count == 3 && queuedChanges(of: desk).last == .some(nil))
    desk.wait(3)
    #expect(desk.program.state.tempo == Tempo(120))
  }

  @Test
  func `a song's tempo wins over a tempo for the same bar`() throws {
    for song in [1, 2, 3] as [Int32] {
      for isTempoFirst in [true, false] {
        var desk = try desk()
        if isTempoFirst { desk.send("/tactus/tempo", .float32(150), .string("bar")) }
        desk.send("/tactus/set/go", .int32(song), .string("bar"))
        if !isTempoFirst { desk.send("/tactus/tempo", .float32(150), .string("bar")) }
        let ahead = desk.queued.last?.change
        desk.wait(3)
        #expect(desk.program.state.tempo == ahead?.tempo ?? Tempo(120), "\(song) \(isTempoFirst)")
        #expect(desk.program.state.choices.meter == ahead?.meter ?? Meter(), "\(song) \(isTempoFirst)")
      }
    }
  }

  @Test
  func `a song that is removed, replaced or cancelled withdraws its change`() throws {
    var desk = try desk()
    desk.send("/tactus/set/go", .int32(3), .string("bar"))
    #expect(desk.queued.isEmpty)
    desk.send("/tactus/set/go", .int32(1), .string("bar"))
    desk.send("/tactus/set/go", .int32(4), .string("bar"))
    #expect(queuedChanges(of: desk).last == QueuedChange(at: Beats(8), meter: Meter(beatsPerBar: 3)))
    let changed = try SetSong("Waltz = tempo 100")
    desk.update { $0.lists.songs[3] = changed }
    #expect(queuedChanges(of: desk).last == QueuedChange(at: Beats(8), tempo: Tempo(100)))
    desk.update { $0.lists.songs.remove(at: 3) }
    #expect(queuedChanges(of: desk).last == .some(nil))
  }

  @Test
  func `a queued tempo is not announced while a host or a MIDI clock leads`() throws {
    var desk = try desk()
    desk.send("/tactus/set/go", .int32(1), .string("bar"))
    desk.update { $0.leading = .host }
    let meter = Meter(beatsPerBar: 7, beatType: 8)
    #expect(queuedChanges(of: desk).last == QueuedChange(at: Beats(8), meter: meter))
    desk.update { $0.leading = .link }
    #expect(queuedChanges(of: desk).last == QueuedChange(at: Beats(8), tempo: Tempo(128), meter: meter))
  }
}
