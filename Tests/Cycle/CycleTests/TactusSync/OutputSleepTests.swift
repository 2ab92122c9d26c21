// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusTestSupport
import Testing

@testable import TactusSync

/// An output that sleeps while it has nothing to do must play the same as an output that is rendered in every
/// cycle.
struct IdleTests {
  private static let kinds: [OutputKind] = [.clock, .pulse, .reset, .run, .click, .ltc, .mtc]

  @Test(arguments: campaign([64, 256, 1024] as [UInt32]), campaign(1...3 as ClosedRange<UInt64>))
  func `outputs that sleep while idle play the same as outputs that never do`(
    frames: UInt32, seed: UInt64
  ) {
    let (studio, twin) = (Studio(seed: seed), Studio(seed: seed))
    twin.isRestless = true
    var dice = Dice(seed: seed &* 1_000 &+ UInt64(frames))
    var rack = Self.rack(&dice)
    for each in [studio, twin] {
      each.listensToPulse = true
      each.asksBeforeRolling = true
      each.rack = rack
    }
    for _ in 0..<200 {
      let change = Self.accident(frames: frames, &rack, &dice)
      let seconds = Double.random(in: 0.02...0.3, using: &dice)
      for each in [studio, twin] {
        change(each)
        each.play(seconds: seconds, frames: frames)
      }
    }
    var count = 0
    func areSame(_ played: (Studio) -> [Int]) -> Bool {
      let (own, twins) = (played(studio), played(twin))
      count += own.count
      return own == twins
    }
    #expect(areSame { $0.clicks.flatMap { [$0.frame, Int($0.value * 1e6)] } })
    #expect(areSame { $0.messages.flatMap { [$0.frame, $0.event.hashValue] } })
    #expect(areSame { $0.pulses.flatMap { [$0.onset.frame, $0.width] } })
    #expect(areSame { $0.runEdges.map(\.frame) })
    for place in rack.indices {
      let played = areSame {
        $0.rackMessages[place].flatMap { [$0.frame, $0.event.hashValue] }
          + $0.rackEdges[place].flatMap { [$0.frame, Int($0.value * 1e6)] }
      }
      #expect(played, "\(rack[place].settings.kind) at \(place)")
    }
    #expect(count > 2_000)
  }

  @Test func `an idle output is not rendered in most cycles`() {
    let studio = Studio(tempo: 120, seed: 1)
    var settings = OutputSettings(.clock)
    settings.clock?.when = .always
    studio.rack = [OutputSlot(number: 1, settings: settings)]
    studio.play(seconds: 1, frames: 64)
    // The requests below do not change the output's revision (the number of its settings), so they do not end
    // its sleep; elsewhere that would be an error. Each cycle that renders the output sends a program change.
    studio.keepsRevisions = true
    for _ in 0..<1_500 {
      studio.rack[0].settings.programs?.ask(for: 1, channel: 0)
      studio.play(64)
    }
    let looks = studio.rackMessages[0].count { $0.event.status == 0xC0 }
    let clocks = studio.rackMessages[0].count { $0.event.status == MIDI.clock }
    #expect(looks < 1_500 / 6 && looks >= clocks / 2 && clocks > 90)
  }

  private static func rack(_ dice: inout Dice) -> [OutputSlot] {
    (0..<14).map {
      OutputSlot(
        number: UInt32($0 + 1), settings: output(kinds[$0 % kinds.count], &dice), offset: offset(&dice),
        latency: UInt32(64 * $0))
    }
  }

  /// Returns a random event that an audio cycle can meet. The caller applies the event to both studios, the
  /// one whose outputs sleep and the one whose outputs do not.
  private static func accident(frames: UInt32, _ rack: inout [OutputSlot], _ dice: inout Dice) -> (Studio) ->
    Void
  {
    let number = Int.random(in: 0..<1_000_000, using: &dice)
    let share = Double(number) / 1e6
    switch Int.random(in: 0..<18, using: &dice) {
    case 0: return { $0.setTempo(20 + 280 * share) }
    case 1: return { $0.settings.meter = Meter(beatsPerBar: Int32(1 + number % 7), beatType: 8) }
    case 2: return { $0.transport.state = .starting }
    case 3, 4: return { $0.transport.state = .rolling }
    case 5: return { $0.transport.state = .stopped }
    case 6: return { $0.transport.frame = UInt32(4 * number) }
    case 7: return { $0.play(frames, stall: 100_000 * share) }
    case 8:
      let place = number % rack.count
      rack[place].settings = output(kinds[place % kinds.count], &dice)
      rack[place].offset = offset(&dice)
    case 9: rack[number % rack.count].connections &+= 1
    case 10: rack[number % rack.count].latency = UInt32(number % 5_000)
    case 11:
      return { $0.timeline.timeOrigin = $0.timeline.timeOrigin + Micros(Int64(number % 4_000 - 2_000)) }
    case 12: return { $0.timeline.timeOrigin = $0.timeline.timeOrigin + Micros(Int64(number)) }
    case 13: return { $0.settings.bend.percent = [0, 4, -7][number % 3] }
    case 14: return { $0.latencies = PerPort(repeating: UInt32(number % 3_000)) }
    case 15: return { $0.clockConnections &+= 1 }
    case 16:
      let (clock, click) = (output(.clock, &dice).clock!, output(.click, &dice).click!)
      return {
        $0.settings.clock = clock
        $0.settings.click.subdivision = click.subdivision
        $0.settings.pulse.isOn = number % 5 > 0
        $0.settings.pulse.rate = number % 2 == 0 ? .fortyEight : .four
        $0.settings.offsets[.pulse] = Micros(Int64(number % 40_000 - 20_000))
      }
    default: return { $0.isFreewheeling.toggle() }
    }
    let changed = rack
    return { $0.rack = changed }
  }

  private static func offset(_ dice: inout Dice) -> Micros {
    Micros(Int64.random(in: -30_000..<30_000, using: &dice))
  }

  private static func output(_ kind: OutputKind, _ dice: inout Dice) -> OutputSettings {
    func draw(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &dice) }
    var output = OutputSettings(kind)
    output.clock?.perBeat = [6, 24, 96][draw(3)]
    output.clock?.when = draw(2) == 0 ? .always : .rolling
    output.clock?.sendsTransport = draw(4) > 0
    output.clock?.isOn = draw(6) > 0
    if draw(3) == 0 { output.programs?.ask(for: 1, channel: 5) }
    output.gate?.rate = Rate(Int32(draw(9)), in: Int32(1 + draw(4)), isInBars: draw(2) == 0)
    output.gate?.when = draw(2) == 0 ? .always : .rolling
    output.gate?.isInverted = draw(2) == 0
    output.gate?.isFine = draw(2) == 0
    output.gate?.width = Micros(Int64(1 + draw(30_000)))
    output.click?.subdivision = Int32(1 + draw(4))
    output.click?.when = draw(2) == 0 ? .always : .rolling
    output.countIn = Int32(draw(3))
    return output
  }
}
