// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAudioLanes
import LinkAudioPath
import LinkBeatMath
import TactusJACK

/// Channels of Link Audio without a network. A lane is the memory through which a channel passes between two
/// threads. Audio from one lane enters another lane late, out of order, twice or never, at random. Lanes come
/// and go while the audio thread uses them.
struct Wires {
  private var sent: [SendLane] = []
  private var received: [ReceiveLane] = []
  private var number: UInt64 = 0

  /// Replaces the lanes together with their ports, or replaces only the lanes and keeps the ports.
  mutating func change(on host: JACKHost, _ dice: inout Dice) {
    sent = (0..<dice.draw(below: 4)).map { SendLane(channels: 1 + $0 % 2) }
    received = (0..<dice.draw(below: 4)).map { _ in ReceiveLane() }
    for lane in sent { lane.isWanted = true }
    let ports =
      sent.enumerated().map { AudioChannelPorts(name: "send_\($0)", pretty: "Send", lane: .send($1)) }
      + received.enumerated().map {
        AudioChannelPorts(name: "from_\($0)", pretty: "From", lane: .receive($1))
      }
    host.carry(ports)
  }

  mutating func carry(at now: Micros, _ dice: inout Dice) {
    for lane in sent {
      lane.drain { period, samples in
        number &+= 1
        let luck = dice.draw(below: 40)
        let chunk = AudioChunk(
          session: period.session, number: luck == 0 ? number &- 3 : number, begin: period.begin,
          microsPerBeat: period.microsPerBeat, arrival: now.count,
          sampleRate: luck == 1 ? 44_100 : period.sampleRate,
          frames: period.frames, channels: period.channels)
        guard luck != 2 else { return }
        for other in received {
          other.put(chunk) { place in
            for index in place.indices { place.initializeElement(at: index, to: samples[index]) }
          }
        }
      }
    }
  }
}
