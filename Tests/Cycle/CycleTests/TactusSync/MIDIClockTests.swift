// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import Testing

@testable import TactusSync

struct MIDIClockTests {
  /// A receiver of MIDI clock. It counts clock messages after Start, or after a position and Continue.
  struct Receiver {
    /// The song position of the next clock message, in 24ths of a beat.
    private(set) var place = 0
    private(set) var isRunning = false
    /// The counted clock messages: the position in the song of each message, and the time at which it is
    /// heard.
    private(set) var counted: [(place: Int, heard: Double)] = []
    private(set) var starts = 0
    private(set) var continues = 0
    private(set) var stops = 0

    mutating func receive(_ message: Studio.Message) {
      switch message.event.status {
      case MIDI.clock:
        if isRunning {
          counted.append((place, message.heard))
          place += 1
        }
      case MIDI.start:
        (place, isRunning) = (0, true)
        starts += 1
      case MIDI.resume:
        #expect(!isRunning)
        isRunning = true
        continues += 1
      case MIDI.stop:
        #expect(isRunning)
        isRunning = false
        stops += 1
      case MIDI.songPosition:
        #expect(!isRunning, "many receivers ignore a position while they run")
        place = 6 * (Int(message.event.data1) | Int(message.event.data2) << 7)
      default: Issue.record("unknown status \(message.event.status)")
      }
    }

    init(_ messages: some Sequence<Studio.Message>) {
      for message in messages { receive(message) }
    }
  }

  private func clocks(_ studio: Studio) -> [Studio.Message] {
    studio.messages.filter { $0.event.status == MIDI.clock }
  }

  @Test(arguments: [20, 60, 97, 120, 133.7, 999])
  func `every MIDI clock is at the frame nearest to its time`(tempo: Double) {
    for (frames, rate) in [(16, 8000), (256, 48000), (1024, 44100), (8192, 96000)] as [(UInt32, UInt32)] {
      let studio = Studio(sampleRate: rate, tempo: tempo)
      studio.settings.clock.when = .always
      studio.latencies[.clock] = frames + 11
      studio.play(seconds: max(0.4, 60 / tempo), frames: frames)
      let grid = Grid(studio.timeline)
      let numbers = clocks(studio).map { (grid.beat(at: $0.heard) * 24).rounded() }
      #expect(numbers.count > 20)
      for (number, clock) in zip(numbers, clocks(studio)) {
        #expect(abs(clock.heard - grid.time(of: number / 24)) <= studio.microsPerFrame / 2 + 1.1)
      }
      for (earlier, later) in zip(numbers, numbers.dropFirst()) { #expect(later == earlier + 1) }
    }
  }

  @Test func `no MIDI clock is sent while the transport stands, unless chosen`() {
    let studio = Studio(tempo: 120)
    studio.play(seconds: 1)
    #expect(studio.messages.isEmpty)
    studio.settings.clock.when = .always
    studio.play(seconds: 1)
    #expect(clocks(studio).count == 48 && studio.messages.count == 48)
    studio.settings.clock.isOn = false
    studio.play(seconds: 1)
    #expect(studio.messages.count == 48)
  }

  /// Rolls from `frame` after `wait` seconds, and returns the clock messages that a receiver counted in
  /// `seconds`.
  private func roll(
    _ studio: Studio, from frame: UInt32, after wait: Double, seconds: Double, period: UInt32 = 256
  ) -> (receiver: Receiver, rolledAt: Double) {
    studio.play(seconds: wait, frames: period)
    studio.transport = Transport(state: .starting, frame: frame)
    studio.play(period)
    studio.transport.state = .rolling
    let rolledAt = studio.due + studio.clock.period(period)
    studio.play(seconds: seconds, frames: period)
    return (Receiver(studio.messages), rolledAt)
  }

  @Test func `a start off the grid sends Continue on a sixteenth within 150 ms`() throws {
    for wait in stride(from: 1.0, to: 1.62, by: 0.013) {
      let studio = Studio(tempo: 97)
      studio.latencies[.clock] = 256
      let (receiver, rolledAt) = roll(studio, from: 100_001, after: wait, seconds: 3)
      let grid = Grid(studio.timeline)
      #expect(receiver.continues == 1 && receiver.starts == 0)
      let command = try #require(studio.messages.first { $0.event.status == MIDI.resume })
      #expect(command.heard - rolledAt <= 150_000 + 5334, "Continue, after a wait of \(wait)")
      #expect(receiver.counted.count > 100)
      for (place, heard) in receiver.counted {
        let exact = grid.beat(at: heard) * 24
        #expect(abs(exact - exact.rounded()) * grid.beatMicros / 24 <= studio.microsPerFrame / 2 + 1.1)
        // Frame 100001 at 97 BPM is beat 3.3683 of the song. The song's beat 0 is rounded to a whole beat of
        // the session.
        let song = grid.beat(at: heard) - (grid.beat(at: rolledAt) - 100_001.0 / 48000 * 97 / 60).rounded()
        #expect(Int((song * 24).rounded()) == place)
      }
    }
  }

  @Test(arguments: [20, 60, 97, 120, 187.3, 300, 999])
  func `a MIDI clock receiver finds and keeps the song's place at every start`(tempo: Double) {
    var dice = Dice(seed: UInt64(tempo))
    for _ in 0..<25 {
      let studio = Studio(sampleRate: 8000, tempo: tempo)
      studio.latencies[.clock] = UInt32.random(in: 0...200, using: &dice)
      studio.latencies[.jack] = UInt32.random(in: 0...200, using: &dice)
      studio.settings.clock.when = Bool.random(using: &dice) ? .always : .rolling
      let frame = UInt32.random(in: 0...400_000, using: &dice)
      let (receiver, rolledAt) = roll(
        studio, from: frame, after: Double.random(in: 0.1...1, using: &dice), seconds: 1.2, period: 64)
      let grid = Grid(studio.timeline)
      #expect(receiver.starts + receiver.continues == 1)
      let heardRoll = rolledAt + Double(studio.latencies[.jack]) * studio.microsPerFrame
      let origin = (grid.beat(at: heardRoll) - Double(frame) / 8000 * 1e6 / grid.beatMicros).rounded()
      for (place, heard) in receiver.counted {
        #expect(Int(((grid.beat(at: heard) - origin) * 24).rounded()) == place)
      }
    }
  }

  @Test func `a receiver gets its time between song position and Continue`() throws {
    for (tempo, settle, least) in [
      (300, 100_000, 100_000), (300, 20_000, 20_000), (120, 1_000_000, 1_000_000),
    ]
      as [(Double, Int64, Double)]
    {
      let studio = Studio(tempo: tempo)
      studio.settings.clock.settle = Micros(settle)
      let (receiver, rolledAt) = roll(studio, from: 100_001, after: 1, seconds: 2)
      #expect(receiver.continues == 1)
      let command = try #require(studio.messages.first { $0.event.status == MIDI.resume })
      #expect(command.heard - rolledAt >= least - 100)
      #expect(command.heard - rolledAt <= least + 60e6 / tempo / 4 + 6000)
    }
  }

  @Test func `if the song's first beat is still to come, Start comes for that beat`() throws {
    // The transport rolls from frame 0 when the session is at beat 2.6. The nearest beat is 3, which is still
    // 0.4 beats ahead.
    let studio = Studio(tempo: 120)
    studio.latencies[.clock] = 128
    let (receiver, _) = roll(studio, from: 0, after: 1.3, seconds: 2)
    let grid = Grid(studio.timeline)
    #expect(receiver.starts == 1 && receiver.continues == 0)
    let start = try #require(studio.messages.first)
    let first = try #require(receiver.counted.first)
    #expect(start.event.status == MIDI.start)
    #expect(abs(first.heard - grid.time(of: 3)) <= 12)
    // Half of the time between two clock messages at 120 BPM is 10.4 ms.
    #expect(abs(first.heard - start.heard - grid.beatMicros / 48) <= 24)
  }

  @Test func `MIDI Stop is sent when the stop is heard at the port`() throws {
    let studio = Studio(tempo: 120)
    studio.latencies[.jack] = 2000
    studio.latencies[.clock] = 500
    _ = roll(studio, from: 0, after: 1.3, seconds: 2)
    studio.transport.state = .stopped
    let stoppedAt = studio.due + studio.clock.period(256) + 2000 * studio.microsPerFrame
    studio.play(seconds: 1)
    let last = try #require(studio.messages.last)
    #expect(last.event.status == MIDI.stop)
    #expect(abs(last.heard - stoppedAt) < 12)
  }

  @Test func `a standing transport's locates send a position every 20 ms at most`() throws {
    let studio = Studio(tempo: 120)
    studio.play(seconds: 0.5)
    for step in 1...100 {
      studio.transport.frame = UInt32(step * 6000)
      studio.play(256)
    }
    studio.play(seconds: 0.1)
    // In 0.53 s of scrubbing (many locates) at most one position is sent every 20 ms. The last position is
    // among them: frame 600000 is the sixteenth 100.
    #expect(studio.messages.count > 10 && studio.messages.count <= 28)
    #expect(studio.messages.allSatisfy { $0.event.status == MIDI.songPosition })
    let last = try #require(studio.messages.last)
    #expect(last.event.data1 == 100 && last.event.data2 == 0)
    let count = studio.messages.count
    studio.setTempo(60)
    studio.play(seconds: 1)
    #expect(studio.messages.count == count, "a tempo change is no locate")
  }

  @Test func `a locate while rolling sends Stop, position and Continue`() {
    let studio = Studio(tempo: 120)
    _ = roll(studio, from: 0, after: 1.0, seconds: 1.1)
    studio.transport.frame = 480_000
    let before = studio.messages.count
    let locatedAt = studio.due
    studio.play(seconds: 2)
    let told = studio.messages.dropFirst(before).filter { $0.event.status != MIDI.clock }
    #expect(told.map(\.event.status) == [MIDI.stop, MIDI.songPosition, MIDI.resume])
    let grid = Grid(studio.timeline)
    let receiver = Receiver(studio.messages)
    let offset = (20 - grid.beat(at: locatedAt)).rounded()
    for (place, heard) in receiver.counted.suffix(30) {
      #expect(Int(((grid.beat(at: heard) + offset) * 24).rounded()) == place)
    }
  }

  @Test func `a tempo change sends only MIDI clocks and keeps the receiver's place`() {
    for (from, to) in [(120, 60), (60, 120), (97, 187.3), (187.3, 97), (120, 121)] as [(Double, Double)] {
      for place in stride(from: 0.0, to: 0.25, by: 1.0 / 48) {
        let studio = Studio(sampleRate: 8000, tempo: from)
        studio.latencies[.clock] = 100
        let (_, _) = roll(
          studio, from: 0, after: 0.75 * 60 / from, seconds: (1 + place) * 60 / from, period: 32)
        let before = studio.messages.count
        studio.setTempo(to)
        studio.play(seconds: 1, frames: 32)
        #expect(studio.messages.dropFirst(before).allSatisfy { $0.event.status == MIDI.clock })
        let grid = Grid(studio.timeline)
        let receiver = Receiver(studio.messages)
        // The song began at beat 1.
        for (place, heard) in receiver.counted.suffix(5) {
          #expect(Int(((grid.beat(at: heard) - 1) * 24).rounded()) == place)
        }
        let times = receiver.counted.map(\.heard)
        let shortest = zip(times, times.dropFirst()).map { $1 - $0 }.min() ?? 0
        #expect(shortest >= 60e6 / max(from, to) / 24 / 2 - 2 * studio.microsPerFrame)
      }
    }
  }

  @Test func `in another session the MIDI clock restarts at the right place`() {
    for place in stride(from: 0.0, to: 1.0, by: 1.0 / 8) {
      let studio = Studio(tempo: 120)
      _ = roll(studio, from: 0, after: 1.9, seconds: 2)
      studio.timeline.timeOrigin = studio.timeline.timeOrigin - Micros(Int64((614 + place) * 500_000))
      studio.play(seconds: 2)
      let grid = Grid(studio.timeline)
      let receiver = Receiver(studio.messages)
      for (place, heard) in receiver.counted.suffix(12) {
        let song = grid.beat(at: heard) * 24
        #expect(abs(song - song.rounded()) < 0.01)
        // The song began on beat 4. In the new session the song is in phase with the quantum of four beats,
        // as before.
        #expect((Int(song.rounded()) - place) % 96 == 0)
      }
    }
  }

  @Test func `MIDI song positions beyond fourteen bits wrap`() {
    let studio = Studio(sampleRate: 8000, tempo: 999)
    let frames = UInt32(5000 * 60.06 / 1000 * 8000)
    let (receiver, _) = roll(studio, from: frames, after: 0.3, seconds: 1, period: 64)
    #expect(receiver.continues == 1 && receiver.counted.count > 300)
    let beat = (receiver.counted.first?.place ?? 0) / 24
    #expect((5000 - 4096...5004 - 4096).contains(beat), "beat \(beat)")
  }

  @Test func `a MIDI clock switched off sends Stop, switched on finds its place`() {
    let studio = Studio(tempo: 120)
    _ = roll(studio, from: 0, after: 1.9, seconds: 1)
    studio.settings.clock.isOn = false
    studio.play(seconds: 1.1)
    #expect(studio.messages.last?.event.status == MIDI.stop)
    studio.settings.clock.isOn = true
    studio.play(seconds: 1)
    let grid = Grid(studio.timeline)
    for (place, heard) in Receiver(studio.messages).counted {
      #expect(Int(((grid.beat(at: heard) - 4) * 24).rounded()) == place)
    }
  }

  @Test func `a freewheeling server sends no MIDI clock to hardware`() {
    let studio = Studio(tempo: 120)
    _ = roll(studio, from: 0, after: 1.9, seconds: 1)
    studio.isFreewheeling = true
    studio.play(seconds: 5)
    // Messages of an export's cycles reach no hardware, so a Stop in the export's first cycle would be lost.
    let count = studio.messages.count
    #expect(studio.messages.last?.event.status == MIDI.clock)
    studio.play(seconds: 5)
    #expect(studio.messages.count == count)
    studio.isFreewheeling = false
    studio.transport.state = .stopped
    studio.play(256)
    #expect(studio.messages.dropFirst(count).map(\.event.status) == [MIDI.stop])
  }
}
