// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusOSC
import Testing

@testable import TactusSurface

@Suite("Messages that take effect later")
struct TimeTests {
  @Test
  func `a bundle's messages are obeyed in order at its timetag, and answered`() {
    var desk = Desk()
    let due = desk.now + Micros(1_000_000)
    desk.send(
      bytes: bundle(
        desk.timetag(in: 1), Message("/tactus/click", .float32(1)), Message("/tactus/quantum", .float32(3)),
        Message("/tactus/tempo", .float32(5000))))
    desk.wait(0.5)
    // Another controller sends something while the bundle waits.
    desk.send("/tactus/ping", from: Desk.local)
    #expect(desk.orders.isEmpty)
    desk.wait(0.6)
    #expect(desk.program.commands == [.set("click", .flag(true)), .set("quantum", .whole(3))])
    #expect(desk.orders.allSatisfy { abs(($0.time - due).count) <= 1 })
    #expect(desk.sent.last { $0.message.address == "/tactus/error" }?.to == Desk.tablet.endpoint)
  }

  @Test
  func `OSC bundles with a past or immediate timetag are obeyed at once`() {
    var desk = Desk()
    desk.send(bytes: bundle(desk.timetag(in: -0.2), Message("/tactus/click", .float32(1))))
    desk.send(bytes: bundle(1, Message("/tactus/clock", .float32(1))))
    #expect(desk.program.commands == [.set("click", .flag(true)), .set("clock", .flag(true))])
  }

  @Test
  func `an OSC bundle too far ahead, or one too many of them, is refused`() {
    var desk = Desk()
    desk.send(bytes: bundle(desk.timetag(in: 61), Message("/tactus/click", .float32(1))))
    #expect(desk.errors == ["click: 61 s ahead; at most 60"])
    desk.forget()
    for _ in 1...SurfaceLimits.agenda {
      desk.send(bytes: bundle(desk.timetag(in: 30), Message("/tactus/click", .float32(1))), from: Desk.local)
    }
    #expect(desk.errors.isEmpty)
    desk.send(bytes: bundle(desk.timetag(in: 30), Message("/tactus/click", .float32(1))), from: Desk.local)
    #expect(desk.errorCodes == [4] && desk.machine.agenda.count == SurfaceLimits.agenda)
    desk.wait(31)
    #expect(desk.program.commands.count == SurfaceLimits.agenda && desk.machine.agenda.count == 0)
  }

  @Test
  func `strangers' waiting bundles leave room for this machine's bundles`() {
    func wait(_ desk: inout Desk, _ peer: Peer) {
      desk.send(bytes: bundle(desk.timetag(in: 55), Message("/tactus/click", .float32(1))), from: peer)
    }
    func stranger(_ number: Int) -> Peer { Peer(Endpoint(Address.v4(0x0a00_1000 + UInt32(number)), port: 9)) }
    var desk = Desk()
    for _ in 1...300 { wait(&desk, stranger(1)) }
    #expect(desk.machine.agenda.count == 64)
    for number in 2...300 { wait(&desk, stranger(number)) }
    #expect(desk.machine.agenda.count == 128)
    desk.forget()
    desk.wait(1)
    for _ in 1...128 { wait(&desk, Desk.local) }
    #expect(desk.errors.isEmpty && desk.machine.agenda.count == 256)
    // The limit also holds if the stranger has two addresses.
    desk = Desk()
    for _ in 1...300 {
      wait(&desk, stranger(1))
      wait(&desk, stranger(2))
    }
    desk.forget()
    wait(&desk, Desk.local)
    #expect(desk.errors.isEmpty)
  }

  @Test(
    arguments: [
      (0, true), (1, true), (2, true), (1 << 32, true), (2_208_988_800 << 32, true), ((1 << 63) - 1, true),
      ((UInt64(Desk.epoch) + 2_208_988_800 + 62) << 32, false),
      ((UInt64(Desk.epoch) + 2_208_988_800 + 86_400 * 300) << 32, false), (.max, true),
    ] as [(UInt64, Bool)])
  func `OSC bundles without a time, or from a clock never set, act at once`(
    tag: UInt64, isObeyed: Bool
  ) {
    var desk = Desk()
    desk.send(bytes: bundle(tag, Message("/tactus/click", .float32(1))))
    #expect(desk.program.commands.isEmpty != isObeyed)
    #expect(desk.errors.count == (isObeyed ? 0 : 1))
  }

  @Test
  func `a jump of the wall clock moves waiting OSC bundles within a second`() {
    var desk = Desk()
    desk.send(bytes: bundle(desk.timetag(in: 10), Message("/tactus/click", .float32(1))))
    desk.wait(1)
    // The wall clock jumps ahead by 8 s, but Link's clock does not.
    let stepped = Clocks(
      host: desk.now, unixSeconds: Desk.epoch + desk.now.count / 1_000_000 + 10, nanoseconds: 0)
    desk.machine.tick(clocks: stepped)
    desk.drain()
    #expect(desk.program.commands == [.set("click", .flag(true))])
  }

  @Test
  func `a tempo for the next beat or bar changes exactly there`() {
    var desk = Desk()
    desk.update { $0.timeline = Timeline(tempo: Tempo(120), beatOrigin: .zero, timeOrigin: Micros(0)) }
    desk.wait(0.13)
    desk.send("/tactus/tempo", .float32(100), .string("beat"))
    #expect(desk.orders.isEmpty)
    desk.wait(0.6)
    #expect(desk.program.commands == [.tempo(Tempo(100))])
    let turned = desk.orders.first.map { order in
      Timeline(tempo: Tempo(120), beatOrigin: .zero, timeOrigin: Micros(0)).beats(at: order.time)
    }
    #expect(turned == Beats(3))
    desk.forget()
    let before = desk.program.state.timeline
    desk.send("/tactus/tempo", .float32(140), .string("bar"))
    desk.wait(5)
    #expect(desk.program.commands == [.tempo(Tempo(140))])
    #expect(abs((before.beats(at: desk.orders[0].time) - Beats(4)).millionths) <= 2)
  }

  @Test
  func `a tempo change moves a waiting tempo's time, not its bar`() {
    var desk = Desk()
    desk.update { $0.timeline = Timeline(tempo: Tempo(120), beatOrigin: .zero, timeOrigin: Micros(0)) }
    desk.send("/tactus/tempo", .float32(140), .string("bar"))  // at beat 2
    let now = desk.now
    desk.update { $0.timeline = $0.timeline.turned(to: Tempo(60), at: now) }
    let slow = desk.program.state.timeline
    desk.forget()
    desk.wait(2.1)
    #expect(desk.orders.map { (slow.beats(at: $0.time) - Beats(4)).millionths.magnitude <= 2 } == [true])
  }

  @Test
  func `a tempo whose bar moved far away is dropped with an error`() {
    var desk = Desk()
    desk.update {
      $0.timeline = Timeline(tempo: Tempo(120), beatOrigin: Beats(50_000), timeOrigin: Micros(0))
    }
    desk.send("/tactus/tempo", .float32(140), .string("bar"))
    // tactus joins another session, which has just begun.
    desk.update { $0.timeline = Timeline(tempo: Tempo(120), beatOrigin: .zero, timeOrigin: Micros(0)) }
    desk.wait(1)
    #expect(
      desk.errors.count == 1 && desk.errors[0].hasPrefix("tempo: the session's beats were renumbered"))
    desk.wait(3600 * 8)
    #expect(desk.program.commands == [])
    // A tempo may wait as long as the longest possible bar lasts.
    let now = desk.now
    desk.update {
      $0.choices.quantum = 64
      $0.timeline = $0.timeline.turned(to: Tempo(20), at: now)
    }
    desk.send("/tactus/tempo", .float32(140), .string("bar"))
    desk.wait(193)
    #expect(desk.program.commands == [.tempo(Tempo(140))])
  }

  @Test
  func `a second tempo for the next bar replaces the first`() {
    var desk = Desk()
    desk.send("/tactus/tempo", .float32(140), .string("bar"))
    desk.send("/tactus/tempo", .float32(150), .string("bar"))
    desk.wait(3)
    #expect(desk.program.commands == [.tempo(Tempo(150))])
  }

  @Test
  func `the command start takes now, beat or bar as its argument`() {
    for launch in LaunchMoment.allCases {
      var desk = Desk()
      desk.send("/tactus/start", .string("\(launch)"))
      #expect(desk.program.commands == [.start(launch)])
      desk.forget()
      desk.send("/tactus/start", .float32(1), .string("\(launch)"))
      #expect(desk.program.commands == [.start(launch)])
    }
    var desk = Desk()
    desk.send("/tactus/start", .string("tomorrow"))
    #expect(desk.errors == ["start: one of now, beat, bar, not \"tomorrow\""])
  }

  @Test
  func `beats are sent over OSC when they are heard, also as the tempo changes`() {
    var desk = Desk()
    desk.send("/tactus/subscribe", .string("beat"))
    desk.update { $0.timeline = Timeline(tempo: Tempo(120), beatOrigin: .zero, timeOrigin: Micros(0)) }
    desk.wait(0.7)
    desk.forget()
    var expected: [Micros] = []
    func play(_ desk: inout Desk, _ timeline: Timeline, seconds: Double) {
      desk.update { $0.timeline = timeline }
      let end = desk.now + Micros(rounding: seconds * 1e6)
      var beat = Int64(flooring: timeline.beats(at: desk.now).value) + 1
      while timeline.time(at: Beats(Double(beat))) <= end {
        expected.append(timeline.time(at: Beats(Double(beat))))
        beat += 1
      }
      desk.wait(seconds)
    }
    let first = Timeline(tempo: Tempo(120), beatOrigin: .zero, timeOrigin: Micros(0))
    play(&desk, first, seconds: 10.1)
    let second = first.turned(to: Tempo(187.3), at: desk.now)
    play(&desk, second, seconds: 10.02)
    var third = second
    third.timeOrigin = third.timeOrigin + Micros(2000)
    play(&desk, third, seconds: 10)
    let beats = desk.sent.filter { $0.message.address == "/tactus/beat" }
    #expect(beats.count == expected.count)
    for (beat, expected) in zip(beats, expected) { #expect((0...200).contains((beat.at - expected).count)) }
  }

  @Test
  func `OSC sends the count-in as a countdown, and the beat lights follow`() {
    var desk = Desk()
    desk.update { $0.timeline = Timeline(tempo: Tempo(60), beatOrigin: .zero, timeOrigin: Micros(0)) }
    desk.send("/tactus/subscribe", .string("beat phase position"))
    desk.wait(0.5)
    desk.forget()
    desk.send("/tactus/start", .string("bar"))
    desk.wait(4)
    #expect(
      desk.valuesSent("beat") == [
        [.int32(3), .int32(0)], [.int32(4), .int32(0)], [.int32(1), .int32(1)], [.int32(2), .int32(1)],
      ])
    #expect(desk.valuesSent("beat/1") == [[.float32(1)], [.float32(0)]])
    #expect(desk.valuesSent("downbeat").filter { $0 == [.float32(1)] }.count == 1)
    var seen: [[Argument]] = []
    for label in desk.valuesSent("countin/str") where seen.last != label { seen.append(label) }
    #expect(seen == [[.string("3")], [.string("2")], [.string("1")], [.string(" ")]])
    #expect(
      desk.valuesSent("position/bbt").last == [.string("001|02|0768")]
        || desk.valuesSent("position/bbt").count > 10)
  }

  @Test
  func `in 7/8, OSC counts each eighth as a beat, also in the count-in`() {
    var desk = Desk()
    desk.update {
      $0.timeline = Timeline(tempo: Tempo(60), beatOrigin: .zero, timeOrigin: Micros(0))
      $0.choices.meter = Meter(beatsPerBar: 7, beatType: 8)
    }
    let first = (desk.program.state.sessionBeats(at: desk.now).value / 3.5).rounded(.up) * 3.5
    desk.now = desk.program.state.time(atSessionBeats: Beats(first + 1.2))
    desk.send("/tactus/subscribe", .string("beat phase exact"))
    desk.wait(0.1)
    #expect(desk.valuesSent("beat/3").last == [.float32(1)])
    desk.forget()
    desk.send("/tactus/start", .string("bar"))
    desk.wait(4.95)
    let beats = desk.sent.filter { $0.message.address == "/tactus/beat" }
    let expected = [[4, 0], [5, 0], [6, 0], [7, 0], [1, 1], [2, 1], [3, 1], [4, 1], [5, 1], [6, 1]]
    #expect(beats.map { $0.message.arguments.compactMap(\.number) } == expected.map { $0.map(Double.init) })
    for (one, next) in zip(beats, beats.dropFirst()) {
      #expect(abs((next.at - one.at).count - 500_000) <= 200)
    }
    var seen: [[Argument]] = []
    for label in desk.valuesSent("countin/str") where seen.last != label { seen.append(label) }
    #expect(seen == ["5", "4", "3", "2", "1", " "].map { [.string($0)] })
    #expect(desk.valuesSent("song").last == [.string("rolling"), .float64(first + 3.5)])
  }

  @Test
  func `a new meter begins at its bar line, and is sent to subscribers ahead`() {
    var desk = Desk()
    desk.update {
      $0.timeline = Timeline(tempo: Tempo(60), beatOrigin: .zero, timeOrigin: Micros(0))
      $0.transport = .rolling(origin: .zero)
    }
    let bars = { (beat: Double) in (beat / 4).rounded(.down) }
    let line = 4 * (bars(desk.program.state.sessionBeats(at: desk.now).value) + 1)
    desk.now = desk.program.state.time(atSessionBeats: Beats(line - 0.7))
    desk.send("/tactus/subscribe", .string("beat exact"))
    desk.wait(0.1)
    desk.forget()
    desk.send("/tactus/meter", .int32(7), .int32(8))
    desk.wait(0.1)
    // Before the bar line, the message `song` has both meters. Receivers change to the new meter at
    // the bar line, and not earlier.
    let origin = Argument.float64(line - (line / 4) * 3.5)
    #expect(
      desk.valuesSent("song").last == [
        .string("rolling"), .float64(0), .float64(0), .int32(4), .int32(4), .float64(line), .int32(7),
        .int32(8),
      ])
    desk.wait(4.2)
    #expect(
      desk.valuesSent("song").last == [.string("rolling"), .float64(0), origin, .int32(7), .int32(8)])
    let numbers = desk.valuesSent("beat").map { $0.compactMap(\.number) }
    let bar = line / 4 + 1
    #expect(numbers == (1...7).map { [Double($0), bar] } + [[1, bar + 1]])
    #expect(desk.valuesSent("song").last?[2] == .float64(line - (bar - 1) * 3.5))
  }

  @Test
  func `a receiver of the OSC message "song" shows the same bars as tactus`() {
    var dice = SystemRandomNumberGenerator()
    let seed = UInt64.random(in: 1...999_999, using: &dice)
    var draw = seed
    func random(_ count: UInt64) -> Int64 {
      draw = draw &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int64((draw >> 33) % count)
    }
    func meter() -> Meter { Meter(beatsPerBar: Int32(random(64)) + 1, beatType: 1 << Int32(random(6))) }
    for round in 0..<300 {
      var state = SurfaceState()
      state.choices.meter = meter()
      let origin = random(8000) - 4000
      state.transport = .rolling(origin: Beats(ThirtySeconds.beats(origin)))
      for _ in 0..<random(4) {
        state.choose(at: Micros(random(60_000_000))) { $0.choices.meter = meter() }
      }
      let now = Micros(random(60_000_000))
      var received = SurfaceState()
      received.choices.meter = state.choices.meter
      received.takeSong(state.songTold(at: now))
      #expect(received.transport == state.transport)
      let present = ThirtySeconds.before(state.songBeats(at: now).value)
      for place in stride(from: present, to: present + 3000, by: 7) {
        let (one, other) = (state.bars.place(of: place), received.bars.place(of: place))
        guard one != other else { continue }
        Issue.record("seed \(seed), round \(round), at \(place - present): \(one) and \(other)")
        return
      }
    }
  }

  @Test
  func `OSC sends the position in bars, beats and ticks, also before 0`() {
    var desk = Desk()
    desk.update {
      $0.choices.meter = Meter(beatsPerBar: 3, beatType: 4)
      $0.transport = .stopped(at: Beats(7.25))
    }
    desk.send("/tactus/subscribe", .string("position"))
    #expect(desk.valuesSent("position/bbt").last == [.string("003|02|0480")])
    #expect(desk.valuesSent("position/time").last == [.string("00:00:03.625")])
    desk.forget()
    desk.update { $0.transport = .stopped(at: Beats(-0.5)) }
    desk.wait(0.2)
    #expect(desk.valuesSent("position/bbt").last == [.string("000|03|0960")])
    desk.update {
      $0.choices.meter = Meter(beatsPerBar: 7, beatType: 8)
      $0.transport = .stopped(at: Beats(7.875))
    }
    desk.wait(0.2)
    #expect(desk.valuesSent("position/bbt").last == [.string("003|02|1440")])
    desk.update { $0.transport = .stopped(at: Beats(-0.5)) }
    desk.wait(0.2)
    #expect(desk.valuesSent("position/time").last == [.string("-00:00:00.250")])
  }

  @Test
  func `a subscriber of the OSC group "exact" can compute beats to 1 us`() {
    var desk = Desk()
    desk.send("/tactus/subscribe", .string("exact"))
    desk.update {
      $0.timeline = Timeline(tempo: Tempo(131.7), beatOrigin: Beats(3.2), timeOrigin: Micros(123_456))
    }
    desk.wait(30)
    guard case .float64(let tempo)? = desk.valuesSent("timeline").last?[0],
      case .float64(let beat)? = desk.valuesSent("timeline").last?[1],
      case .float64(let time)? = desk.valuesSent("timeline").last?[2]
    else {
      Issue.record("no timeline")
      return
    }
    let later = Micros(rounding: time + 60_000_000)
    let computed = beat + 60 * tempo / 60
    #expect(abs(computed - desk.program.state.sessionBeats(at: later).value) < 0.001 * tempo / 60)
    // The group `exact` is sent at each change and at each bar.
    #expect((16...19).contains(desk.valuesSent("timeline").count))
  }

  @Test
  func `the OSC message "song" has the transport's state and the position`() {
    var desk = Desk()
    desk.send("/tactus/subscribe", .string("exact"))
    #expect(desk.valuesSent("song").last == [.string("stopped"), .float64(0)])
    desk.update { $0.transport = .waiting(origin: Beats(8)) }
    desk.wait(0.01)
    #expect(desk.valuesSent("song").last == [.string("waiting"), .float64(8)])
    desk.update { $0.transport = .rolling(origin: Beats(8)) }
    desk.wait(0.01)
    #expect(desk.valuesSent("song").last == [.string("rolling"), .float64(8)])
    desk.update { $0.transport = .stopped(at: Beats(2.5)) }
    desk.wait(0.01)
    #expect(desk.valuesSent("song").last == [.string("stopped"), .float64(2.5)])
    #expect(desk.valuesSent("song").count == desk.valuesSent("timeline").count)
  }
}
