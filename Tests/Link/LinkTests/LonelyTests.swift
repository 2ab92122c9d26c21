// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkSession
import Synchronization
import TactusTestSupport
import Testing

@testable import Link

/// Link without a network: no test here opens a socket that peers could hear.
struct LonelyTests {
  @Test func `a new Link is active but disabled and stopped without peers`() {
    let link = Link(tempo: 133)
    #expect(link.isActive && !link.isEnabled && !link.isStartStopSyncEnabled)
    #expect(!link.isConnected && link.peerCount == 0)
    let state = link.captureAppState()
    #expect(state.tempo == 133 && !state.isPlaying && !state.isConnected)
    let beat = state.beat(at: Link.clock(), quantum: 4)
    #expect(beat >= 0 && beat < 4)
  }

  @Test(arguments: [(1.0, 20.0), (100_000, 999), (.infinity, 999), (120.25, 120.25)])
  func `the tempo stays within the range of Link`(wanted: Double, given: Double) {
    #expect(Link(tempo: wanted).captureAppState().tempo == given)
    let link = Link(tempo: 100)
    link.updateAppState { $0.setTempo(wanted, at: Link.clock()) }
    #expect(link.captureAppState().tempo == given)
  }

  @Test func `a tempo that is NaN is ignored`() {
    #expect(Link(tempo: .nan).captureAppState().tempo == 120)
    let link = Link(tempo: 100)
    var audio = link.takeAudio()!
    link.updateAppState { $0.setTempo(.nan, at: Link.clock()) }
    link.updateAppState { $0.timeline.tempo = Tempo(.nan) }
    var heard = audio.captureAudioState()
    heard.timeline.tempo = Tempo(.nan)
    audio.commitAudioState(heard)
    let kept = audio.captureAudioState().tempo
    #expect(kept == 100 && link.captureAppState().tempo == 100)
  }

  @Test func `an audio handle exists once and can be taken again after its end`() {
    var link: Link? = Link(tempo: 100)
    /// Takes the audio handle, sets a tempo, and releases the handle. Returns whether no second handle could
    /// be taken meanwhile.
    func set(_ tempo: Double) -> Bool {
      guard var audio = link?.takeAudio() else { return false }
      let isGivenTwice = if case .none = link?.takeAudio() { false } else { true }
      var state = audio.captureAudioState()
      state.setTempo(tempo, at: Link.clock())
      return audio.commitAudioState(state) && !isGivenTwice
    }
    for tempo in [104.0, 105, 106] {
      #expect(set(tempo) && link?.captureAppState().tempo == tempo)
    }
    // The audio handle may outlive the peer.
    var last = link!.takeAudio()!
    link = nil
    let tempo = last.captureAudioState().tempo
    #expect(tempo == 106)
  }

  @Test func `a commit is seen by the next capture on any thread`() {
    let link = Link(tempo: 100)
    var audio = link.takeAudio()!
    var state = link.captureAppState()
    state.setTempo(111, at: Link.clock())
    state.setPlaying(true, at: Link.clock())
    link.commitAppState(state)
    #expect(link.captureAppState().tempo == 111)
    var heard = audio.captureAudioState()
    #expect(heard.tempo == 111 && heard.isPlaying)
    heard.setTempo(112, at: Link.clock())
    audio.commitAudioState(heard)
    heard = audio.captureAudioState()
    #expect(heard.tempo == 112)
    #expect(link.captureAppState().tempo == 112)
    #expect(link.captureAppState().isPlaying)
  }

  @Test func `an old capture does not undo later commits of other threads`() {
    let link = Link(tempo: 100)
    var old = link.captureAppState()
    link.updateAppState { $0.setTempo(150, at: Link.clock()) }
    old.setPlaying(true, at: Link.clock())
    link.commitAppState(old)
    #expect(link.captureAppState().tempo == 150 && link.captureAppState().isPlaying)
  }

  @Test func `a callback gets a start even without start/stop sync`() {
    let link = Link(tempo: 100)
    let heard = Log<Bool>()
    link.onStartStop { heard.append($0) }
    link.updateAppState { $0.setPlaying(true, at: Link.clock()) }
    link.updateAppState { $0.setPlaying(true, at: Link.clock()) }
    link.updateAppState { $0.setPlaying(false, at: Link.clock()) }
    #expect(eventually { heard.all == [true, false] })
  }

  @Test func `an audio commit reaches the callback while disabled`() {
    let link = Link(tempo: 100)
    let heard = Log<Double>()
    link.onTempo { heard.append($0) }
    var audio = link.takeAudio()!
    var state = audio.captureAudioState()
    state.setTempo(101, at: Link.clock())
    audio.commitAudioState(state)
    #expect(eventually { heard.all == [101] })
  }

  @Test func `a new callback replaces the old one`() {
    let link = Link(tempo: 100)
    let old = Log<Double>(), new = Log<Double>()
    link.onTempo { old.append($0) }
    link.updateAppState { $0.setTempo(101, at: Link.clock()) }
    #expect(eventually { old.all == [101] })
    link.onTempo { new.append($0) }
    link.updateAppState { $0.setTempo(102, at: Link.clock()) }
    #expect(eventually { new.all == [102] })
    link.onTempo(nil)
    link.updateAppState { $0.setTempo(103, at: Link.clock()) }
    pause(milliseconds: 50)
    #expect(old.all == [101] && new.all == [102])
  }

  @Test func `a callback may use Link and replace itself`() {
    let link = Link(tempo: 100)
    let heard = Log<Double>()
    link.onTempo { [weak link] tempo in
      heard.append(tempo)
      link?.onTempo(nil)
      link?.updateAppState { $0.setPlaying(true, at: Link.clock()) }
    }
    link.updateAppState { $0.setTempo(101, at: Link.clock()) }
    #expect(eventually { heard.all == [101] && link.captureAppState().isPlaying })
  }

  @Test func `a callback may release the last reference`() {
    final class Owner: @unchecked Sendable { var link: Link? = Link(tempo: 100) }
    let owner = Owner()
    let heard = Log<Double>()
    owner.link?.onTempo { tempo in
      owner.link = nil
      heard.append(tempo)
    }
    owner.link?.updateAppState { $0.setTempo(101, at: Link.clock()) }
    #expect(eventually { heard.all == [101] })
  }

  @Test func `no callback comes after the release of its Link`() {
    let heard = Log<Double>()
    for tempo in 0..<50 {
      let link = Link(tempo: 100)
      link.onTempo { _ in heard.append(1) }
      link.updateAppState { $0.setTempo(101 + Double(tempo), at: Link.clock()) }
    }
    let count = heard.all.count
    pause(milliseconds: 50)
    #expect(heard.all.count == count)
  }

  @Test func `too many uncollected audio commits are refused and change nothing`() {
    let link = Link(tempo: 100)
    var audio = link.takeAudio()!
    // More commits than the queue holds, within one turn of Link's thread; all accepted commits must arrive.
    var taken = 100.0
    var refused = 0
    for tempo in 0..<2_000 {
      var state = audio.captureAudioState()
      state.setTempo(200 + Double(tempo % 500), at: Link.clock())
      if audio.commitAudioState(state) { taken = state.tempo } else { refused += 1 }
    }
    let last = audio.captureAudioState().tempo
    #expect(last == taken)
    #expect(link.captureAppState().tempo == taken)
    #expect(refused > 0)
  }

  @Test func `of too many waiting events the newest of each kind is delivered`() {
    var engine = Engine(
      Link.Configuration(tempo: 100), seed: 1, far: nil, at: Micros(1_000_000), status: LinkStatus())
    for turn in 0..<5_000 {
      let now = Micros(1_000_001 + Int64(turn))
      var state = engine.snapshot.state
      if turn < 3 { state.setPlaying(turn % 2 == 0, at: now) }
      state.setTempo(100 + Double(turn % 500), at: now)
      if let change = state.change(at: now) { engine.commit(change, at: now) }
    }
    let events = engine.takeEvents()
    #expect(events.contains(.startStop(true)) && !events.contains(.startStop(false)))
    #expect(events.last == .tempo(100 + Double(4_999 % 500)) && events.count <= Engine.eventLimit)
  }

  /// An observer whose audio thread commits a last change just before the observer is detached.
  private final class LastWord: SessionObserver {
    let change = Mutex<SessionChange?>(nil)
    let pace = CommitPace.never
    func publish(_ snapshot: SessionSnapshot) {}
    func nextChange() -> SessionChange? {
      change.withLock { change in
        defer { change = nil }
        return change
      }
    }
  }

  @Test func `the last change of an observer is applied when it is detached`() {
    let link = Link(tempo: 100)
    for tempo in 101..<140 {
      let door = LastWord()
      link.attach(door)
      var state = link.captureAppState()
      state.setTempo(Double(tempo), at: Link.clock())
      door.change.withLock { $0 = state.change(at: Link.clock()) }
      link.detach(door)
      #expect(link.captureAppState().tempo == Double(tempo))
    }
  }

  @Test func `many threads may capture and commit at once`() {
    let link = Link(tempo: 100)
    link.isStartStopSyncEnabled = true
    let threads = (0..<3).map { number in
      Worker {
        for round in 0..<500 {
          link.updateAppState { $0.setTempo(100 + Double((round + number) % 50), at: Link.clock()) }
          _ = link.captureAppState().beat(at: Link.clock(), quantum: 4)
          _ = link.peerCount
        }
      }
    }
    let audioThread = Worker {
      var audio = link.takeAudio()!
      for round in 0..<2_000 {
        var state = audio.captureAudioState()
        if round % 10 == 0 { state.setPlaying(round % 20 == 0, at: Link.clock()) }
        audio.commitAudioState(state)
      }
    }
    threads.forEach { $0.join() }
    audioThread.join()
    #expect((100..<150).contains(link.captureAppState().tempo))
  }

  @Test func `the app's and the audio thread both set and see the song line`() {
    let link = Link(tempo: 120)
    var audio = link.takeAudio()!
    func decide(_ state: inout SessionState, _ beat: Double) {
      state.setSongLine(
        SongLine(sessionBeat: .zero, songBeat: Beats(beat), beatsPerBar: 3, beatType: 4))
    }
    link.updateAppState { decide(&$0, 8) }
    #expect(link.captureAppState().songLine == nil && !link.isSongSyncEnabled)
    link.isSongSyncEnabled = true
    link.updateAppState { decide(&$0, 8) }
    var heard = audio.captureAudioState()
    #expect(heard.songLine?.songBeat == Beats(8) && heard.songDecision == 1)
    decide(&heard, 16)
    audio.commitAudioState(heard)
    let own = audio.captureAudioState().songLine
    #expect(own?.songBeat == Beats(16))
    let shared = link.captureAppState()
    #expect(shared.songLine == own && shared.songDecision == 2)
    link.isSongSyncEnabled = false
    #expect(link.captureAppState().songLine == nil)
  }
}
