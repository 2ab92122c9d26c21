// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusMIDI
import TactusOSC
import Testing

@testable import TactusSurface
@testable import TactusTerminal

/// All OSC messages that a subscriber gets about this state.
private func told(_ state: SurfaceState, at now: Micros = .zero)
  -> [Message]
{
  var reading = Reading(state: state, own: SurfaceMemory())
  reading.own.reach = OSCReach(open: ["127.0.0.1:20809"])
  (reading.own.song, reading.own.songWaiting) = (state.place.song, state.place.waiting)
  reading.own.tempoWaiting = state.tempoWaiting
  var feeds = Feeds(state: state, at: now)
  return Table.standard.with(state.lists.outputs).rows.compactMap { row in
    row.read.map { Message(Table.address(row.path), arguments: $0(reading)) }
  }
    + feeds.snapshot(for: .exact, state: state, at: now).map {
      Message(Table.address($0.path), arguments: $0.arguments)
    }
}

private func heard(_ messages: [Message], ahead: Micros = .zero) -> RemoteState {
  var told = RemoteState()
  told.ahead = ahead
  for message in messages { told.receive(message) }
  return told
}

/// Changes to the state, one for each test case. Together they cover everything that a view shows.
private let states: [@Sendable (inout SurfaceState) -> Void] = [
  { _ in },
  { $0.transport = Scenes.rolling },
  { $0.transport = .waiting(origin: Beats(16)) },
  { $0.transport = .stopped(at: Beats(33.5)) },
  { $0.choices.isLinkEnabled.toggle() },
  { $0.choices.meter = Meter(beatsPerBar: 7, beatType: 8) },
  {
    $0.choices.meter = Meter(beatsPerBar: 7, beatType: 8)
    $0.transport = .rolling(origin: Beats(-10.5))
    var bars = Bars()
    bars.change(to: $0.choices.meter, at: 3)
    $0.changedBars = bars
  },
  {
    $0.transport = .rolling(origin: Beats(-10.5))
    $0.choose(at: .zero) { $0.choices.meter = Meter(beatsPerBar: 5) }
  },
  {
    $0.timeline = Timeline(tempo: Tempo(133.33), beatOrigin: .zero, timeOrigin: Micros(777_777))
    $0.choices.quantum = 3
  },
  {
    $0.choices.click.isOn = true
    $0.choices.click.when = .always
    $0.choices.click.sound = .wood
    $0.jack.isClickConnected = false
  },
  {
    $0.choices.click.isOn = true
    $0.choices.offsets[.click1] = .milliseconds(12.5)
    $0.choices.offsets[.click2] = .milliseconds(3)
    $0.choices.offsets[.jack] = .milliseconds(-4)
    $0.readings.jitterMicros[.clock] = 12
    $0.choices.clock.isOn = true
  },
  {
    $0.jack.timebase = .other("Hydrogen (probably)")
    $0.choices.lead = .host
    $0.leading = .host
    $0.readings.leadErrorMilliseconds = -1.5
  },
  {
    $0.choices.lead = .midi
    $0.leading = .midi
    $0.midiClock = .locked(Tempo(97.5))
  },
  { $0.jack.isRunning = false },
  { $0.link.isActive = false },
  {
    $0.jack.leavesTimebase = true
    $0.jack.xruns = 7
    $0.readings.driftPartsPerMillion = -23
    $0.readings.launchErrorMilliseconds = 0.12
    $0.readings.hasLaunched = true
    $0.readings.lagMilliseconds = 2.5
  },
  { $0.page.reach = .network(["http://192.168.7.5:20810/", "http://10.0.0.5:20810/"]) },
  { $0.page.reach = .thisMachine("http://127.0.0.1:20810/") },
  {
    $0.lists.songs = ["Opener = tempo 128", "Ballad = tempo 70", "Last = tempo 90"].compactMap {
      try? SetSong($0)
    }
    $0.place = SetPlace(song: "Opener", waiting: "Ballad", coming: "Last")
    $0.tempoWaiting = 131.5
  },
  {
    $0.transport = .waiting(origin: Beats(8))
    ($0.doing, $0.startPlace) = (.waiting, Beats(6))
  },
  {
    $0.transport = .waiting(origin: Beats(8))
    ($0.doing, $0.startPlace, $0.askedLaunch) = (.waiting, Beats(6), .now)
  },
  {
    $0.transport = Scenes.rolling
    ($0.doing, $0.choices.stop, $0.choices.launch.countIn) = (.stopping, .bar, 2)
    $0.choices.click.pattern = Pattern("XxX".utf8) ?? Pattern()
  },
  {
    $0.far.rooms = [
      ShownRoom(
        name: "hall.example:20811", state: .proven, roundTripMilliseconds: 24, lossPercent: 0.1,
        offsetMilliseconds: 0),
      ShownRoom(
        name: "attic:20811", state: .waiting, roundTripMilliseconds: nil, lossPercent: nil,
        offsetMilliseconds: 0),
    ]
  },
  {
    $0.choices.audio.isOn = true
    var drums = ShownChannel(name: "Studio/Drums (wet), left", isSent: false)
    (drums.state, drums.delayMilliseconds) = (.plays, 22.1)
    $0.audio.channels = [
      drums, ShownChannel(name: "Bass", isSent: true), ShownChannel(name: "Keys", isSent: true),
    ]
  },
  {
    $0.lists.outputs = ["drums=clock", "gate=pulse"].compactMap { try? NamedOutput($0) }
    var health = OutputHealth()
    (health.state, health.words) = ("plays", "clock plays, 12 us")
    $0.jack.outputHealth = ["drums": health]
  },
]

@Test(arguments: states.indices)
func `a view on another machine shows the same picture as the local view`(number: Int) {
  for beat in [0.0, 5.25, 14.75, 1001.5] {
    let own = Scenes.scene(beat: beat, states[number])
    let told = heard(told(own.state))
    var other = Scene(state: told.state, now: own.now)
    other.reach = own.reach
    for (columns, rows) in [(80, 24), (132, 43), (40, 12)] {
      #expect(Scenes.text(other, columns, rows) == Scenes.text(own, columns, rows))
    }
  }
}

@Test(arguments: [1, 2, 12, 20, 32], [1, 8, 32])
func `a remote view knows every own output, up to 32`(count: Int, length: Int) {
  let names = (0..<count).map { number in
    String(repeating: "x", count: max(0, length - 2)) + (number < 10 ? "0" : "") + String(number)
  }
  let own = Scenes.scene(beat: 0) { state in
    state.lists.outputs = names.compactMap { try? NamedOutput("\($0)=clock offset=-12.5") }
    var health = OutputHealth()
    (health.state, health.words) = ("plays", "clock plays, 12 us, 3 late")
    state.jack.outputHealth = Dictionary(uniqueKeysWithValues: names.map { ($0, health) })
  }
  let state = heard(told(own.state)).state
  #expect(state.lists.outputs.map(\.name) == names)
  #expect(state.jack.outputHealth.count == count && state.jack.outputHealth[names[0]]?.state == "plays")
}

@Test
func `a remote view corrects another machine's clock`() {
  let own = Scenes.scene(beat: 5.25) { $0.transport = Scenes.rolling }
  let ahead = Micros(3_600_000_123)
  // Set the state's times as the other machine's clock shows them.
  var state = own.state
  state.timeline.timeOrigin = state.timeline.timeOrigin + ahead
  let other = Scene(state: heard(told(state, at: own.now + ahead), ahead: ahead).state, now: own.now)
  #expect(Scenes.text(other, 80, 24) == Scenes.text(own, 80, 24))
  // The difference of the clocks may become known later than the state.
  var later = heard(told(state, at: own.now + ahead))
  later.ahead = ahead
  #expect(later.state == other.state)
}

@Test
func `a remote view survives any OSC message`() {
  var dice = SystemRandomNumberGenerator()
  let seed = UInt64.random(in: .min ... .max, using: &dice)
  print("seed \(seed)")
  var random = seed
  func draw(_ below: Int) -> Int {
    random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int(random >> 33) % below
  }
  let numbers: [Double] = [
    .nan, .infinity, -.infinity, 0, -1, 1e300, -1e300, 1e18, -9.3e18, 20, 999, 0.5,
  ]
  let texts = [
    "", " ", "none", "a (b), ", " (", "), (), (", "\u{1B}[2J", "locked,  BPM", "locked, nan BPM", "http://",
    ";;,", "[::",
  ]
  func argument() -> Argument {
    switch draw(5) {
    case 0: .string(texts[draw(texts.count)])
    case 1: .float64(numbers[draw(numbers.count)])
    case 2: .float32(Float(numbers[draw(numbers.count)]))
    case 3: .int32([.min, .max, 0, 1, -1][draw(5)])
    default: .impulse
    }
  }
  let paths =
    Table.standard.rows.map(\.path) + [
      "out/drums/state", "out//state", "out/a/b/c", "timeline", "song", "song",
    ]
  for _ in 0..<200 {
    var told = RemoteState()
    told.ahead = Micros(Int64(draw(3) - 1) &* Int64.max)
    for _ in 0..<100 {
      told.receive(
        Message(Table.address(paths[draw(paths.count)]), arguments: (0..<draw(5)).map { _ in argument() }))
    }
    for now in [Micros.zero, Micros(1_000_000_000_000), Micros(Int64.max / 2)] {
      #expect(!Scenes.text(Scene(state: told.state, now: now), 80, 24).contains("\u{1B}"))
    }
  }
}

@Test
func `a key of a remote view sends the message of its address`() {
  for (target, message) in [
    (Target(path: "toggle"), Message("/tactus/toggle")),
    (
      Target(path: "tempo", arguments: ["128", "bar"]),
      Message("/tactus/tempo", .string("128"), .string("bar"))
    ),
    (
      Target(path: "set/song", arguments: ["My", "Song"]),
      Message("/tactus/set/song", .string("My"), .string("Song"))
    ),
    (
      Target(path: "osc/send", arguments: ["127.0.0.1:9", "/a"]),
      Message("/tactus/osc/send", .string("127.0.0.1:9 /a"))
    ),
  ] {
    #expect(Table.standard.message(target) == message)
  }
  #expect(Table.standard.message(Target(path: "nonsense")) == nil)
}

@Test
func `q leaves a remote view at once`() {
  let keys = KeyMap(isElsewhere: true)
  var keyboard = Keyboard(keys)
  let scene = Scenes.scene { $0.transport = Scenes.rolling }
  #expect(keyboard.press(.character("q"), scene.state, at: .zero) == .leave)
  let view = TerminalView(glyphs: .ascii, keys: keys)
  var shown = scene
  shown.place = "192.168.7.20"
  let size = Size(columns: 100, rows: 30)
  #expect(view.picture(of: shown, size: size).text.contains("tactus at 192.168.7.20"))
  shown.page = .keys
  #expect(view.picture(of: shown, size: size).text.contains("leave this view"))
}
