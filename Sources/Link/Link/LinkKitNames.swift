// SPDX-License-Identifier: GPL-2.0-or-later

// LinkKit's names, so that the compiler translates an old program. docs/linkkit.md has the whole table. A
// time has the type `Any`, because an old program passes a number.

/// LinkKit's name for `Link`.
@available(*, unavailable, renamed: "Link")
public typealias ABLLinkRef = Link

/// LinkKit's name for `Link.SessionState`.
@available(*, unavailable, renamed: "Link.SessionState")
public typealias ABLLinkSessionStateRef = Link.SessionState

/// LinkKit's name for `Link.init(tempo:)`.
@available(*, unavailable, renamed: "Link.init(tempo:)")
public func ABLLinkNew(_ bpm: Double) -> Link { fatalError() }

/// A name of LinkKit. The compiler says: release the last reference to the Link.
@available(*, unavailable, message: "release the last reference to the Link")
public func ABLLinkDelete(_ link: Link) { fatalError() }

/// LinkKit's name for `Link.isActive`.
@available(*, unavailable, renamed: "setter:Link.isActive(self:_:)")
public func ABLLinkSetActive(_ link: Link, _ isActive: Bool) { fatalError() }

/// LinkKit's name for `Link.isEnabled`.
@available(*, unavailable, renamed: "getter:Link.isEnabled(self:)")
public func ABLLinkIsEnabled(_ link: Link) -> Bool { fatalError() }

/// LinkKit's name for `Link.isConnected`.
@available(*, unavailable, renamed: "getter:Link.isConnected(self:)")
public func ABLLinkIsConnected(_ link: Link) -> Bool { fatalError() }

/// LinkKit's name for `Link.isStartStopSyncEnabled`.
@available(*, unavailable, renamed: "getter:Link.isStartStopSyncEnabled(self:)")
public func ABLLinkIsStartStopSyncEnabled(_ link: Link) -> Bool { fatalError() }

/// A name of LinkKit. The compiler says: use link.onTempo { bpm in }.
@available(*, unavailable, message: "use link.onTempo { bpm in }")
public func ABLLinkSetSessionTempoCallback(
  _ link: Link, _ callback: ((Double, UnsafeMutableRawPointer?) -> Void)?, _ context: Any?
) { fatalError() }

/// A name of LinkKit. The compiler says: use link.onStartStop { isPlaying in }.
@available(*, unavailable, message: "use link.onStartStop { isPlaying in }")
public func ABLLinkSetStartStopCallback(
  _ link: Link, _ callback: ((Bool, UnsafeMutableRawPointer?) -> Void)?, _ context: Any?
) { fatalError() }

/// A name of LinkKit. The compiler says: use link.onConnection { isConnected in }.
@available(*, unavailable, message: "use link.onConnection { isConnected in }")
public func ABLLinkSetIsConnectedCallback(
  _ link: Link, _ callback: ((Bool, UnsafeMutableRawPointer?) -> Void)?, _ context: Any?
) { fatalError() }

/// LinkKit's name for `Link.capture()`.
@available(*, unavailable, renamed: "Link.capture(self:)")
public func ABLLinkCaptureAppSessionState(_ link: Link) -> Link.SessionState { fatalError() }

/// LinkKit's name for `Link.commit(_:)`.
@available(*, unavailable, renamed: "Link.commit(self:_:)")
public func ABLLinkCommitAppSessionState(_ link: Link, _ state: Link.SessionState) { fatalError() }

/// A name of LinkKit. The compiler says: use capture() of the handle that link.takeAudio() gives.
@available(*, unavailable, message: "use capture() of the handle that link.takeAudio() gives")
public func ABLLinkCaptureAudioSessionState(_ link: Link) -> Link.SessionState { fatalError() }

/// A name of LinkKit. The compiler says: use commit(_:) of the handle that link.takeAudio() gives.
@available(*, unavailable, message: "use commit(_:) of the handle that link.takeAudio() gives")
public func ABLLinkCommitAudioSessionState(_ link: Link, _ state: Link.SessionState) { fatalError() }

/// LinkKit's name for `Link.SessionState.tempo`.
@available(*, unavailable, renamed: "getter:Link.SessionState.tempo(self:)")
public func ABLLinkGetTempo(_ state: Link.SessionState) -> Double { fatalError() }

/// LinkKit's name for `Link.SessionState.setTempo(_:at:)`.
@available(*, unavailable, renamed: "Link.SessionState.setTempo(self:_:at:)")
public func ABLLinkSetTempo(_ state: Link.SessionState, _ bpm: Double, _ time: Any) { fatalError() }

/// LinkKit's name for `Link.SessionState.beat(at:quantum:)`.
@available(*, unavailable, renamed: "Link.SessionState.beat(self:at:quantum:)")
public func ABLLinkBeatAtTime(_ state: Link.SessionState, _ time: Any, _ quantum: Double) -> Double {
  fatalError()
}

/// LinkKit's name for `Link.SessionState.time(atBeat:quantum:)`.
@available(*, unavailable, renamed: "Link.SessionState.time(self:atBeat:quantum:)")
public func ABLLinkTimeAtBeat(_ state: Link.SessionState, _ beat: Double, _ quantum: Double) -> Link.Instant {
  fatalError()
}

/// LinkKit's name for `Link.SessionState.phase(at:quantum:)`.
@available(*, unavailable, renamed: "Link.SessionState.phase(self:at:quantum:)")
public func ABLLinkPhaseAtTime(_ state: Link.SessionState, _ time: Any, _ quantum: Double) -> Double {
  fatalError()
}

/// LinkKit's name for `Link.SessionState.requestBeat(_:at:quantum:)`.
@available(*, unavailable, renamed: "Link.SessionState.requestBeat(self:_:at:quantum:)")
public func ABLLinkRequestBeatAtTime(
  _ state: Link.SessionState, _ beat: Double, _ time: Any, _ quantum: Double
) { fatalError() }

/// LinkKit's name for `Link.SessionState.forceBeat(_:at:quantum:)`.
@available(*, unavailable, renamed: "Link.SessionState.forceBeat(self:_:at:quantum:)")
public func ABLLinkForceBeatAtTime(
  _ state: Link.SessionState, _ beat: Double, _ time: Any, _ quantum: Double
) { fatalError() }

/// LinkKit's name for `Link.SessionState.setPlaying(_:at:)`.
@available(*, unavailable, renamed: "Link.SessionState.setPlaying(self:_:at:)")
public func ABLLinkSetIsPlaying(_ state: Link.SessionState, _ isPlaying: Bool, _ time: Any) {
  fatalError()
}

/// LinkKit's name for `Link.SessionState.isPlaying`.
@available(*, unavailable, renamed: "getter:Link.SessionState.isPlaying(self:)")
public func ABLLinkIsPlaying(_ state: Link.SessionState) -> Bool { fatalError() }

/// LinkKit's name for `Link.SessionState.timeOfPlaying`.
@available(*, unavailable, renamed: "getter:Link.SessionState.timeOfPlaying(self:)")
public func ABLLinkTimeForIsPlaying(_ state: Link.SessionState) -> Link.Instant { fatalError() }

/// LinkKit's name for `Link.SessionState.requestBeatAtStart(_:quantum:)`.
@available(*, unavailable, renamed: "Link.SessionState.requestBeatAtStart(self:_:quantum:)")
public func ABLLinkRequestBeatAtStartPlayingTime(
  _ state: Link.SessionState, _ beat: Double, _ quantum: Double
) { fatalError() }

/// LinkKit's name for `Link.SessionState.setPlaying(_:at:requestingBeat:quantum:)`.
@available(*, unavailable, renamed: "Link.SessionState.setPlaying(self:_:at:requestingBeat:quantum:)")
public func ABLLinkSetIsPlayingAndRequestBeatAtTime(
  _ state: Link.SessionState, _ isPlaying: Bool, _ time: Any, _ beat: Double, _ quantum: Double
) { fatalError() }

/// LinkKit's name for `Link.AudioHandle.beatsPerMinute(from:to:frames:sampleRate:)`.
@available(*, unavailable, renamed: "Link.AudioHandle.beatsPerMinute(from:to:frames:sampleRate:)")
public func ABLLinkBpmInRange(_ first: Double, _ last: Double, _ frames: UInt32, _ sampleRate: UInt32)
  -> Double
{ fatalError() }
