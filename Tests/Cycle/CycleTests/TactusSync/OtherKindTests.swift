// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusTestSupport
import Testing

@testable import TactusSync

/// An output that becomes another kind at the same port must not read memory that its former kind used.
struct OtherKindTests {
  /// The control thread's store of click sounds, with an allocator that marks freed memory. A bank is freed
  /// as soon as the report allows it.
  private final class Shelf {
    static let freed: Float = 1e9
    static let frames = 2400
    private struct Bank {
      let number: UInt32
      let samples: UnsafeMutablePointer<Float>
      let built: UnsafeMutablePointer<SoundBank>
    }
    private var banks: [Bank] = []
    private var freedBanks: [Bank] = []
    private var number: UInt32 = 0
    /// The number of sounds in a bank, which is greater than the number of cases of `ClickSound`.
    private static let sounds = 8

    func put(into studio: Studio) {
      number += 1
      let samples = UnsafeMutablePointer<Float>.allocate(capacity: Self.frames)
      samples.initialize(repeating: 0.125, count: Self.frames)
      let sound = Sound(UnsafeBufferPointer(start: samples, count: Self.frames))
      let bank = SoundBank(number: number, accent: sound, beat: sound, subdivision: sound)
      let built = UnsafeMutablePointer<SoundBank>.allocate(capacity: Self.sounds)
      built.initialize(repeating: bank, count: Self.sounds)
      banks.append(Bank(number: number, samples: samples, built: built))
      studio.bank = bank
      studio.bank.builtIn = UnsafePointer(built)
    }

    func clear(before oldest: UInt32) {
      for bank in banks where bank.number < oldest {
        bank.samples.update(repeating: Self.freed, count: Self.frames)
        freedBanks.append(bank)
      }
      banks.removeAll { $0.number < oldest }
    }

    var count: Int { banks.count }

    deinit {
      for bank in banks + freedBanks {
        bank.samples.deallocate()
        bank.built.deallocate()
      }
    }
  }

  private static func settings(_ kind: OutputKind) -> OutputSettings {
    var settings = OutputSettings(kind)
    settings.click?.gain = 1
    settings.click?.subdivision = 8
    return settings
  }

  private static func output(_ kind: OutputKind, _ number: UInt32 = 1) -> OutputSlot {
    OutputSlot(number: number, settings: settings(kind), latency: 256)
  }

  private func loudest(_ studio: Studio) -> Float {
    studio.rackEdges.joined().map { abs($0.value) }.max() ?? 0
  }

  @Test func `a click output that is a pulse meanwhile plays no freed sound`() {
    let studio = Studio(tempo: 240)
    studio.settings.click.isOn = false
    let shelf = Shelf()
    shelf.put(into: studio)
    studio.rack = [Self.output(.click)]
    // A voice sounds for 50 ms, and clicks are 31 ms apart, so at least one voice sounds at any time.
    studio.play(seconds: 1.01)
    #expect(loudest(studio) > 0.1)
    studio.rack[0].settings = Self.settings(.pulse)
    shelf.put(into: studio)
    for _ in 0..<20 {
      studio.play(256)
      shelf.clear(before: studio.report.outputs.oldestBank)
    }
    #expect(shelf.count == 1)
    studio.rack[0].settings = Self.settings(.click)
    studio.play(seconds: 0.5)
    #expect(loudest(studio) < 2)
  }

  @Test(arguments: campaign(1...12))
  func `an output that changes its kind at random plays no freed sound`(seed: UInt64) {
    var dice = Dice(seed: seed)
    let studio = Studio(tempo: 240)
    studio.settings.click.isOn = Bool.random(using: &dice)
    let shelf = Shelf()
    shelf.put(into: studio)
    studio.rack = (1...4).map { Self.output(.click, $0) }
    var numbers: UInt32 = 4
    var clicks = 0
    let audio: [OutputKind] = [.click, .click, .pulse, .run, .reset, .ltc]
    for _ in 0..<300 {
      let place = Int.random(in: 0..<4, using: &dice)
      // If its port changes between audio and MIDI, the output counts as another output. If the type stays,
      // the output may keep its port.
      if Int.random(in: 0..<8, using: &dice) == 0 {
        numbers += 1
        studio.rack[place] = Self.output(
          [.clock, .mtc, .click][Int.random(in: 0..<3, using: &dice)], numbers)
      } else if studio.rack[place].settings.kind.isMIDI {
        studio.rack[place].settings = Self.settings(Bool.random(using: &dice) ? .clock : .mtc)
      } else {
        studio.rack[place].settings = Self.settings(audio[Int.random(in: 0..<audio.count, using: &dice)])
      }
      if Bool.random(using: &dice) { shelf.put(into: studio) }
      switch Int.random(in: 0..<10, using: &dice) {
      case 0: studio.transport = Transport(state: .rolling, frame: 0)
      case 1: studio.transport.state = .stopped
      case 2: studio.isFreewheeling.toggle()
      default: break
      }
      if studio.rack.contains(where: { $0.settings.kind == .click }) { clicks += 1 }
      for _ in 0..<Int.random(in: 1...12, using: &dice) {
        studio.play(256)
        shelf.clear(before: studio.report.outputs.oldestBank)
      }
    }
    #expect(clicks > 100)
    #expect(loudest(studio) < 9, "seed \(seed)")
  }

  @Test func `a MIDI clock output that was timecode meanwhile stops its machine`() {
    let studio = Studio(tempo: 120)
    studio.sync = HostSync(machinesMayPlay: true)
    studio.rack = [Self.output(.clock)]
    studio.play(seconds: 0.5)
    studio.rack[0].settings = Self.settings(.mtc)
    studio.play(seconds: 0.5)
    studio.rack[0].settings = Self.settings(.clock)
    studio.play(seconds: 0.5)
    let before = studio.rackMessages[0].count
    studio.rack[0].connections = 1
    studio.play(seconds: 0.5)
    #expect(studio.rackMessages[0].dropFirst(before).first?.event.status == MIDI.stop)
  }

  private func rises(_ studio: Studio, from frame: Int) -> [Studio.Onset] {
    studio.rackEdges[0].filter { $0.value > 0 && $0.frame >= frame }
  }

  @Test(arguments: [Rate(0), Rate(isInBars: true)], [true, false])
  func `a reset output added in a song waits for the next pulse of its rate`(rate: Rate, wasPulse: Bool) {
    let studio = Studio(tempo: 120)
    if wasPulse {
      studio.rack = [Self.output(.pulse)]
      studio.rack[0].settings.gate?.rate = Rate(in: 64, isInBars: true)
    }
    studio.play(seconds: 1.3)
    studio.transport.state = .starting
    studio.play(256)
    studio.transport.state = .rolling
    studio.play(seconds: 3.37)
    let added = studio.frame
    studio.rack = [Self.output(.reset)]
    studio.rack[0].settings.gate?.rate = rate
    studio.play(seconds: 4)
    let heard = rises(studio, from: added)
    if rate.count == 0 {
      #expect(heard.isEmpty)
    } else {
      #expect(heard.count == 2)
      let song = studio.report.sessionBeat - studio.report.song.beat
      for rise in heard {
        let bars = (studio.beat(at: rise.heard) - song) / 4
        #expect(abs(bars - bars.rounded()) < 1e-3)
      }
    }
    // The next start must be marked as usual.
    studio.transport.state = .stopped
    studio.play(seconds: 1)
    let stopped = studio.frame
    studio.transport.state = .starting
    studio.play(256)
    studio.transport.state = .rolling
    studio.play(seconds: 0.2)
    #expect(rises(studio, from: stopped).count == 1)
  }

  @Test(arguments: [Rate(0), Rate(isInBars: true)])
  func `after a change of session a reset output waits for the next bar`(rate: Rate) {
    for place in stride(from: 0.0, to: 4.0, by: 0.37) {
      let studio = Studio(tempo: 120)
      studio.rack = [Self.output(.reset)]
      studio.rack[0].settings.gate?.rate = rate
      studio.play(seconds: 1.3)
      studio.transport.state = .starting
      studio.play(256)
      studio.transport.state = .rolling
      studio.play(seconds: 3.37)
      let joined = studio.frame
      studio.timeline.timeOrigin = studio.timeline.timeOrigin - Micros(Int64((613 + place) * 500_000))
      studio.play(seconds: 3.9)
      let heard = rises(studio, from: joined)
      let song = studio.report.sessionBeat - studio.report.song.beat
      let bars = heard.map { (studio.beat(at: $0.heard) - song) / 4 }
      #expect(rate.count == 0 ? bars.count == 1 : (1...2).contains(bars.count), "\(place): \(bars)")
      for bar in bars { #expect(abs(bar - bar.rounded()) < 1e-3, "\(place): \(bars)") }
    }
  }

  @Test func `a reset output switched on in a song does not mark the past start`() {
    let studio = Studio(tempo: 120)
    studio.rack = [Self.output(.reset)]
    studio.rack[0].settings.gate?.rate = Rate(0)
    studio.rack[0].settings.gate?.isOn = false
    studio.play(seconds: 1.3)
    studio.transport.state = .rolling
    studio.play(seconds: 2)
    studio.rack[0].settings.gate?.isOn = true
    studio.play(seconds: 2)
    #expect(studio.rackEdges[0].isEmpty)
  }
}
