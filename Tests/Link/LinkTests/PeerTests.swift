// SPDX-License-Identifier: GPL-2.0-or-later
import Link
import LinkBeatMath
import TactusTestSupport
import Testing

/// Peers in one process, over the loopback gateway of a private network.
@Suite(.enabled(if: Lab.isHere, "needs tools/lab --no-server"))
struct PeerTests {
  let network: PrivateNetwork

  init() throws {
    network = try PrivateNetwork()
  }

  @Test func `two peers agree on the tempo and beat of the older session`() throws {
    let older = try network.link(tempo: 100)
    older.isEnabled = true
    pause(milliseconds: 700)
    let before = older.captureAppState()
    let younger = try network.link(tempo: 140)
    #expect(connected(older, younger))
    #expect(eventually { younger.captureAppState().tempo == 100 })
    let now = Link.clock()
    #expect(older.captureAppState().beat(at: now, quantum: 4) == before.beat(at: now, quantum: 4))
    // Both peers have the same host clock, so any difference is the error of the measurement.
    let apart =
      older.captureAppState().phase(at: now, quantum: 4)
      - younger.captureAppState().phase(at: now, quantum: 4)
    #expect(min(abs(apart), 4 - abs(apart)) < 0.01)
  }

  @Test func `a tempo change goes both ways and reaches both callbacks`() throws {
    let first = try network.link(tempo: 100)
    let second = try network.link(tempo: 100)
    #expect(connected(first, second))
    let heardByFirst = Log<Double>(), heardBySecond = Log<Double>()
    first.onTempo { heardByFirst.append($0) }
    second.onTempo { heardBySecond.append($0) }
    first.updateAppState { $0.setTempo(120, at: Link.clock()) }
    #expect(first.captureAppState().tempo == 120)
    #expect(eventually { second.captureAppState().tempo == 120 })
    second.updateAppState { $0.setTempo(90.5, at: Link.clock()) }
    #expect(second.captureAppState().tempo == 90.5)
    // Peers receive the tempo in whole microseconds per beat.
    let received = 60e6 / 662_983
    #expect(eventually { first.captureAppState().tempo == received })
    #expect(eventually { heardByFirst.all == [120, received] && heardBySecond.all == [120, 90.5] })
  }

  @Test func `start and stop go both ways if both peers enable sync`() throws {
    let first = try network.link(tempo: 120)
    let second = try network.link(tempo: 120)
    #expect(connected(first, second))
    first.isStartStopSyncEnabled = true
    first.updateAppState { $0.setPlaying(true, at: Link.clock()) }
    pause(milliseconds: 300)
    #expect(!second.captureAppState().isPlaying)
    second.isStartStopSyncEnabled = true
    first.updateAppState { $0.setPlaying(false, at: Link.clock()) }
    first.updateAppState { $0.setPlaying(true, at: Link.clock()) }
    #expect(eventually { second.captureAppState().isPlaying })
    second.updateAppState { $0.setPlaying(false, at: Link.clock()) }
    #expect(eventually { !first.captureAppState().isPlaying })
  }

  @Test func `a commit of the audio thread reaches the peers`() throws {
    let first = try network.link(tempo: 120)
    let second = try network.link(tempo: 120)
    #expect(connected(first, second))
    var audio = first.takeAudio()!
    var state = audio.captureAudioState()
    #expect(state.isConnected)
    state.setTempo(133, at: Link.clock())
    let isTaken = audio.commitAudioState(state)
    #expect(isTaken)
    let heard = audio.captureAudioState().tempo
    #expect(heard == 133)
    #expect(first.captureAppState().tempo == 133)
    #expect(eventually { abs(second.captureAppState().tempo - 133) < 0.001 })
  }

  @Test func `for a second the audio thread sees its own tempo, not a peer's`() throws {
    let first = try network.link(tempo: 120)
    let second = try network.link(tempo: 120)
    #expect(connected(first, second))
    var audio = first.takeAudio()!
    var state = audio.captureAudioState()
    state.setTempo(133, at: Link.clock())
    audio.commitAudioState(state)
    let committed = Link.clock()
    #expect(eventually { abs(second.captureAppState().tempo - 133) < 0.001 })
    second.updateAppState { $0.setTempo(77, at: Link.clock()) }
    #expect(eventually { abs(first.captureAppState().tempo - 77) < 0.001 })
    let seen = audio.captureAudioState(at: committed + Micros(900_000)).tempo
    #expect(seen == 133)
    let seenLater = audio.captureAudioState(at: committed + Micros(1_100_000)).tempo
    #expect(abs(seenLater - 77) < 0.001)
  }

  @Test func `disabling Link says goodbye at once and reaches both callbacks`() throws {
    let first = try network.link(tempo: 120)
    let second = try network.link(tempo: 150)
    let connections = Log<Bool>(), farConnections = Log<Bool>(), peers = Log<Int>()
    first.onConnection { connections.append($0) }
    first.onPeers { peers.append($0) }
    second.onConnection { farConnections.append($0) }
    #expect(connected(first, second))
    let tempo = first.captureAppState().tempo
    first.isEnabled = false
    let asked = Link.clock()
    #expect(eventually { second.peerCount == 0 })
    // The goodbye has come long before a silent peer expires, which takes five seconds.
    #expect(Link.clock() - asked < Micros(2_000_000))
    #expect(eventually { !first.isConnected && first.peerCount == 0 })
    #expect(eventually { connections.all == [true, false] && farConnections.all == [true, false] })
    #expect(peers.all == [1, 0])
    #expect(first.captureAppState().tempo == tempo)
  }

  @Test func `the last commit of the audio thread reaches peers before goodbye`() throws {
    let first = try network.link(tempo: 120)
    let second = try network.link(tempo: 120)
    var audio = first.takeAudio()!
    #expect(connected(first, second))
    // This pause is longer than the period of Alives, because a peer that never announced itself in the
    // session is ignored when it leaves (facts: link 7.6).
    pause(milliseconds: 300)
    // After this change, the least time between two states forbids to send the next state at once.
    first.updateAppState { $0.setTempo(90, at: Link.clock()) }
    var state = audio.captureAudioState()
    state.setTempo(133, at: Link.clock())
    let isTaken = audio.commitAudioState(state)
    #expect(isTaken)
    first.isEnabled = false
    #expect(eventually { second.peerCount == 0 })
    #expect(abs(second.captureAppState().tempo - 133) < 0.001)
  }

  @Test func `Link is on the network only if it is both active and enabled`() throws {
    let first = try network.link(tempo: 120)
    let second = try network.link(tempo: 120)
    first.isActive = false
    first.isEnabled = true
    second.isEnabled = true
    pause(milliseconds: 500)
    #expect(second.peerCount == 0)
    first.isActive = true
    #expect(eventually { first.peerCount == 1 && second.peerCount == 1 })
    first.isActive = false
    #expect(eventually { second.peerCount == 0 })
    #expect(first.isEnabled)
  }

  @Test func `a peer that is released says goodbye`() throws {
    let first = try network.link(tempo: 120)
    do {
      let second = try network.link(tempo: 120)
      #expect(connected(first, second))
    }
    let gone = Link.clock()
    #expect(eventually { first.peerCount == 0 })
    #expect(Link.clock() - gone < Micros(2_000_000))
  }

  @Test func `enabling and disabling Link 20 times leaves the machine as it was`() throws {
    let first = try network.link(tempo: 120)
    let second = try network.link(tempo: 120)
    second.isEnabled = true
    for _ in 0..<20 {
      #expect(connected(first, second))
      first.isEnabled = false
      #expect(eventually { second.peerCount == 0 })
    }
    let beat = second.captureAppState().beat(at: Link.clock(), quantum: 4)
    #expect(beat >= 0 && beat < 240)
  }
}
