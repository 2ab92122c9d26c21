// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusMIDI
import TactusSync

// libFuzzer calls this with each mutated stream of MIDI at the port `control`, and with each mutated text of
// MIDI bindings, under the address sanitizer. `tools/bench fuzz` builds it.

@c(LLVMFuzzerTestOneInput)
public func fuzz(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let whole = UnsafeRawBufferPointer(start: bytes, count: count)
  readTwice(String(decoding: whole, as: UTF8.self))
  play(whole)
  return 0
}

/// A MIDI binding must mean the same when it is written and read again, because tactus saves it so.
private func readTwice(_ text: String) {
  for line in text.split(separator: "\n").prefix(8) {
    let line = String(line)
    if let event = MIDIEventName(line) {
      precondition(MIDIEventName(event.description) == event, "an event that is another one when read again")
    }
    guard let binding = MIDIBinding(line) else { continue }
    precondition(MIDIBinding(binding.description) == binding, "a binding that is another one when read again")
  }
}

private func play(_ whole: UnsafeRawBufferPointer) {
  var input = Bytes(whole)
  let stage = Stage(&input)
  stage.settings.lead = input.chance(8) ? .link : .midi
  var map = MIDIMap(configured: ["note 36 = tap", "cc 7 = click/volume"].compactMap { MIDIBinding($0) })
  while !input.isEmpty {
    var events = MIDIEvents()
    for _ in 0..<input.byte() % 6 { receive(&input, &map, &events) }
    stage.received = events
    if input.chance(8) { stage.transport.state = [.rolling, .stopped, .starting][Int(input.byte() % 3)] }
    // tactus follows a MIDI clock only after some even cycles, so play up to four cycles.
    for _ in 0...input.byte() % 4 { stage.play(&input) }
  }
}

/// Takes one MIDI message, and parses it for the bindings and for the MIDI clock as the audio thread does.
private func receive(_ input: inout Bytes, _ map: inout MIDIMap, _ events: inout MIDIEvents) {
  let kinds: [UInt8] = [0xF8, 0xF8, 0xF8, 0xFA, 0xFB, 0xFC, 0xF2, 0xF0]
  let kind = input.byte()
  var message = kind & 8 == 0 ? [kinds[Int(kind & 7)]] : []
  message += input.bytes(Int(kind >> 4))
  if message.first == 0xF0, input.chance(2) { message += [0xF7] }
  let frame = input.chance(8) ? input.number() : UInt32(input.byte())
  if message.count == 1, MIDI.isClock(message[0]) {
    events.insert(MIDIEvent(frame: frame, status: message[0]))
  } else if message.count == 3, message[0] == MIDI.songPosition {
    events.insert(
      MIDIEvent(frame: frame, position: UInt16(message[1] & 0x7F) | UInt16(message[2] & 0x7F) << 7))
  }
  guard let parsed = MIDIMessage(message) else { return }
  if case .level(let level) = parsed.amount { precondition((0...1).contains(level), "a knob beyond its end") }
  if case .seconds(let seconds) = parsed.amount {
    precondition((0...1e6).contains(seconds), "a place that is none")
  }
  if input.chance(4) { map.learn(Target("tempo 60..180")) }
  switch map.receive(parsed) {
  case .nothing, .full: break
  case .learned(let binding):
    precondition(MIDIBinding(binding.description) == binding, "what was learned can't be kept")
  case .moves(let targets, _): precondition(!targets.isEmpty)
  case .turns(let targets, let steps):
    precondition(!targets.isEmpty && abs(steps) <= 64, "a wheel that spins")
  }
  if input.chance(16) { _ = map.forget("all") }
  precondition(map.learned.count <= MIDIMap.limit)
}
