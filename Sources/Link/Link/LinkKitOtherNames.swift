// SPDX-License-Identifier: GPL-2.0-or-later

// The names of LinkKit 2 and 4, and LinkKit's names that have no counterpart here. All others are in
// LinkKitNames.swift. Arguments are `Any?`, so that the compiler shows the new name whatever an old program
// passes.

/// A name of LinkKit. The compiler says: Link has no settings view: set link.isEnabled yourself.
@available(*, unavailable, message: "Link has no settings view: set link.isEnabled yourself")
public func ABLLinkSetIsEnabledCallback(
  _ link: Any?, _ callback: ((Bool, UnsafeMutableRawPointer?) -> Void)?, _ context: Any?
) { fatalError() }

/// A name of LinkKit. The compiler says: Link has no settings view: set link.isStartStopSyncEnabled yourself.
@available(*, unavailable, message: "Link has no settings view: set link.isStartStopSyncEnabled yourself")
public func ABLLinkSetIsStartStopSyncEnabledCallback(
  _ link: Any?, _ callback: ((Bool, UnsafeMutableRawPointer?) -> Void)?, _ context: Any?
) { fatalError() }

/// A name of LinkKit. The compiler says: Link has no settings view: set isEnabled of a LinkAudio yourself.
@available(*, unavailable, message: "Link has no settings view: set isEnabled of a LinkAudio yourself")
public func ABLLinkSetIsAudioEnabledCallback(
  _ link: Any?, _ callback: ((Bool, UnsafeMutableRawPointer?) -> Void)?, _ context: Any?
) { fatalError() }

/// A name of LinkKit. The compiler says: Link has no settings view: set link.isEnabled yourself.
@available(*, unavailable, message: "Link has no settings view: set link.isEnabled yourself")
public typealias ABLLinkSettingsViewController = Never

// LinkKit 2.

/// The old name of `Link.SessionState`.
@available(*, unavailable, renamed: "Link.SessionState")
public typealias ABLLinkTimelineRef = Link.SessionState

/// A name of LinkKit. The compiler says: use capture() of the handle that link.takeAudio() gives.
@available(*, unavailable, message: "use capture() of the handle that link.takeAudio() gives")
public func ABLLinkCaptureAudioTimeline(_ link: Any?) -> Link.SessionState { fatalError() }

/// A name of LinkKit. The compiler says: use commit(_:) of the handle that link.takeAudio() gives.
@available(*, unavailable, message: "use commit(_:) of the handle that link.takeAudio() gives")
public func ABLLinkCommitAudioTimeline(_ link: Any?, _ state: Any?) { fatalError() }

/// A name of LinkKit. The compiler says: use link.capture().
@available(*, unavailable, message: "use link.capture()")
public func ABLLinkCaptureAppTimeline(_ link: Any?) -> Link.SessionState { fatalError() }

/// A name of LinkKit. The compiler says: use link.commit(state).
@available(*, unavailable, message: "use link.commit(state)")
public func ABLLinkCommitAppTimeline(_ link: Any?, _ state: Any?) { fatalError() }

// LinkKit 4: the product LinkAudio.

/// A name of LinkKit. The compiler says: use isEnabled of a LinkAudio.
@available(*, unavailable, message: "use isEnabled of a LinkAudio")
public func ABLLinkIsAudioEnabled(_ link: Any?) -> Bool { fatalError() }

/// A name of LinkKit. The compiler says: use LinkAudio.Sink.
@available(*, unavailable, message: "use LinkAudio.Sink")
public typealias ABLLinkAudioSinkRef = Never

/// A name of LinkKit. The compiler says: send through a LinkAudio.SendEnd.
@available(*, unavailable, message: "send through a LinkAudio.SendEnd")
public typealias ABLLinkAudioSinkBufferHandleRef = Never

/// A name of LinkKit. The compiler says: use publish(_:as:) of a LinkAudio.
@available(*, unavailable, message: "use publish(_:as:) of a LinkAudio")
public func ABLLinkAudioSinkNew(_ link: Any?, _ name: Any?, _ maxNumSamples: Any?) -> Never { fatalError() }

/// A name of LinkKit. The compiler says: release the last reference to the LinkAudio.Sink.
@available(*, unavailable, message: "release the last reference to the LinkAudio.Sink")
public func ABLLinkAudioSinkDelete(_ sink: Any?) { fatalError() }

/// A name of LinkKit. The compiler says: a LinkAudio.SendLane takes periods of up to 8192 frames.
@available(*, unavailable, message: "a LinkAudio.SendLane takes periods of up to 8192 frames")
public func ABLLinkAudioSinkMaxNumSamples(_ sink: Any?) -> UInt32 { fatalError() }

/// A name of LinkKit. The compiler says: a LinkAudio.SendLane takes periods of up to 8192 frames.
@available(*, unavailable, message: "a LinkAudio.SendLane takes periods of up to 8192 frames")
public func ABLLinkAudioSinkRequestMaxNumSamples(_ sink: Any?, _ maxNumSamples: Any?) { fatalError() }

/// A name of LinkKit. The compiler says: use send(_:_:) of a LinkAudio.SendEnd.
@available(*, unavailable, message: "use send(_:_:) of a LinkAudio.SendEnd")
public func ABLLinkAudioRetainBuffer(_ sink: Any?) -> Never { fatalError() }

/// A name of LinkKit. The compiler says: use send(_:_:) of a LinkAudio.SendEnd.
@available(*, unavailable, message: "use send(_:_:) of a LinkAudio.SendEnd")
public func ABLLinkAudioSinkBufferHandleIsValid(_ buffer: Any?) -> Bool { fatalError() }

/// A name of LinkKit. The compiler says: use send(_:_:) of a LinkAudio.SendEnd.
@available(*, unavailable, message: "use send(_:_:) of a LinkAudio.SendEnd")
public func ABLLinkAudioSinkBufferSamples(_ buffer: Any?) -> UnsafeMutablePointer<Int16> { fatalError() }

/// A name of LinkKit. The compiler says: use send(_:_:) of a LinkAudio.SendEnd.
@available(*, unavailable, message: "use send(_:_:) of a LinkAudio.SendEnd")
public func ABLLinkAudioReleaseAndCommitBuffer(
  _ sink: Any?, _ buffer: Any?, _ state: Any?, _ beats: Any?, _ quantum: Any?, _ frames: Any?,
  _ channels: Any?, _ sampleRate: Any?
) -> Bool { fatalError() }

/// A name of LinkKit. The compiler says: a period that is not sent needs no call.
@available(*, unavailable, message: "a period that is not sent needs no call")
public func ABLLinkAudioReleaseBuffer(_ buffer: Any?) { fatalError() }

/// A name of LinkKit. The compiler says: samples are floats: use send(_:_:) of a LinkAudio.SendEnd.
@available(*, unavailable, message: "samples are floats: use send(_:_:) of a LinkAudio.SendEnd")
public func ABLLinkSetPropertiesFromASBD(_ sink: Any?, _ description: Any?) { fatalError() }

/// A name of LinkKit. The compiler says: use send(_:_:) of a LinkAudio.SendEnd.
@available(*, unavailable, message: "use send(_:_:) of a LinkAudio.SendEnd")
public func ABLLinkCommitCoreAudioBufferWithBeats(
  _ sink: Any?, _ state: Any?, _ beats: Any?, _ quantum: Any?, _ frames: Any?, _ buffers: Any?
) -> Bool { fatalError() }

/// A name of LinkKit. The compiler says: use send(_:_:) of a LinkAudio.SendEnd.
@available(*, unavailable, message: "use send(_:_:) of a LinkAudio.SendEnd")
public func ABLLinkCommitCoreAudioBufferWithHostTime(
  _ sink: Any?, _ state: Any?, _ time: Any?, _ quantum: Any?, _ frames: Any?, _ buffers: Any?
) -> Bool { fatalError() }

/// A name of LinkKit. The compiler says: samples are floats, and a lane converts them.
@available(*, unavailable, message: "samples are floats, and a lane converts them")
public func ABLConvertInt16(_ sample: Any?) -> Int16 { fatalError() }

/// A name of LinkKit. The compiler says: samples are floats, and a lane converts them.
@available(*, unavailable, message: "samples are floats, and a lane converts them")
public func ABLConvertUInt16(_ sample: Any?) -> Int16 { fatalError() }

/// A name of LinkKit. The compiler says: samples are floats, and a lane converts them.
@available(*, unavailable, message: "samples are floats, and a lane converts them")
public func ABLConvertInt32(_ sample: Any?) -> Int16 { fatalError() }

/// A name of LinkKit. The compiler says: samples are floats, and a lane converts them.
@available(*, unavailable, message: "samples are floats, and a lane converts them")
public func ABLConvertUInt32(_ sample: Any?) -> Int16 { fatalError() }

/// A name of LinkKit. The compiler says: samples are floats, and a lane converts them.
@available(*, unavailable, message: "samples are floats, and a lane converts them")
public func ABLConvertFloat(_ sample: Any?) -> Int16 { fatalError() }
