// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusOSC
import Testing

@testable import TactusSurface

@Suite("Link Audio's channels")
struct SoundTests {
  @Test(arguments: [
    ("auto", AudioDelay.auto), ("0", .time(.zero)), ("37.5", .time(Micros(37_500))), ("1beat", .beats(1)),
    ("16beats", .beats(16)), ("1bar", .bars(1)), ("4bars", .bars(4)),
  ])
  func `a Link Audio delay is auto, milliseconds, beats or bars`(text: String, delay: AudioDelay) throws {
    #expect(try AudioDelay([.text(text)]) == delay)
    #expect(delay.word == text)
  }

  @Test(arguments: [
    "", "2001", "-1", "nan", "0x10", "1e2", "0beats", "17beats", "5bars", "beats", "1 bar", "1/2",
  ])
  func `text that is not auto, milliseconds, beats or bars is no audio delay`(text: String) {
    #expect(throws: Refusal.self) { try AudioDelay([.text(text)]) }
  }

  @Test
  func `a tablet may receive channels, but not send this machine's microphone`() {
    var desk = Desk(.paired)
    desk.send("/tactus/audio/receive", .string("*/*"))
    desk.send("/tactus/audio/send", .string("Ears=system:capture_1"))
    #expect(desk.program.state.lists.receives == ["*/*"])
    #expect(desk.program.state.lists.sends.isEmpty)
    desk.send("/tactus/audio/send", .string("Drums"), from: Desk.local)
    #expect(desk.program.state.lists.sends == ["Drums"])
    desk.send("/tactus/audio/receive/end", .string("*/*"))
    #expect(desk.program.state.lists.receives.isEmpty)
  }

  @Test
  func `each called room has its own offset, from -250 to 250 ms`() {
    var desk = Desk()
    desk.send("/tactus/far/offset", .string("studio:20819"), .float32(-2.5))
    #expect(desk.program.state.lists.calls == ["studio:20819 offset=-2.5"])
    desk.send("/tactus/far/offset", .string("studio:20819"), .float32(.nan))
    desk.send("/tactus/far/offset", .string("studio:20819"), .float32(251))
    desk.send("/tactus/far/offset", .float32(3))
    #expect(desk.program.state.lists.calls == ["studio:20819 offset=-2.5"])
  }

  @Test
  func `the Link Audio channels are listed between two update messages`() {
    var desk = Desk()
    var channel = ShownChannel(name: "Studio/Drums", isSent: false)
    channel.state = .plays
    channel.delayMilliseconds = 20
    channel.dropouts = 3
    channel.takenBy = "*/*"
    desk.update {
      $0.audio.channels = [ShownChannel(name: "Voice", isSent: true), channel]
      $0.audio.offered = ["Studio/Drums", "Studio/Bass"]
    }
    desk.send("/tactus/audio/list", from: Desk.local)
    let channels = desk.sent.map(\.message).filter { $0.address == "/tactus/audio/channel" }
    #expect(
      channels.map(\.arguments.first) == [.string("Voice"), .string("Studio/Drums"), .string("Studio/Bass")])
    #expect(channels.map { $0.arguments[1] } == [.string("sent"), .string("received"), .string("offered")])
    let row = Table.standard.row("audio/channel")
    #expect(channels.allSatisfy { $0.arguments.count == row?.parameters.count })
    #expect(channels[1].arguments[9] == .int32(3) && channels[1].arguments.last == .string("*/*"))
  }

  @Test
  func `a thousand channels are listed in several datagrams, none is left out`() {
    var desk = Desk()
    desk.update {
      $0.audio.channels = [ShownChannel(name: "Voice", isSent: true)]
      $0.audio.offered = (0..<1000).map { "Studio/\($0)" }
    }
    var names: Set<String> = []
    for page in 1...16 {
      desk.forget()
      desk.send("/tactus/audio/list", .int32(Int32(page)), from: Desk.local)
      let messages = desk.sent.map(\.message)
      let heads = messages.filter { $0.address == "/tactus/audio/page" }
      #expect(heads.map(\.arguments) == [[.int32(Int32(page)), .int32(16), .int32(1001)]])
      let channels = messages.filter { $0.address == "/tactus/audio/channel" }
      #expect(channels.count == (page < 16 ? SurfaceMachine.channelsPerPage : 41))
      for case .string(let name)? in channels.map(\.arguments.first) { names.insert(name) }
      desk.wait(0.5)
    }
    #expect(names.count == 1001)
    for wrong in [Argument.int32(17), .int32(0), .float32(.nan)] {
      desk.wait(5)
      desk.forget()
      desk.send("/tactus/audio/list", wrong, from: Desk.local)
      #expect(!desk.sent.contains { $0.message.address == "/tactus/audio/channel" })
      #expect(desk.errors.count == 1, "\(wrong) \(desk.errors)")
    }
  }
}
