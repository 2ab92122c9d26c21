// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport
import Testing

/// Checks the compiler's messages for a program that was written for LinkKit.
@Suite struct LinkKitNamesTests {
  /// Each line uses one name as a Swift program for iOS does: with a time as a number, and nil as context.
  private static let program = """
    import Link
    func old(_ link: Link, _ s: Link.SessionState, _ t: UInt64, _ any: Int) {
      _ = ABLLinkRef.self
      _ = ABLLinkSessionStateRef.self
      _ = ABLLinkNew(120)
      ABLLinkDelete(link)
      ABLLinkSetActive(link, true)
      _ = ABLLinkIsEnabled(link)
      _ = ABLLinkIsConnected(link)
      _ = ABLLinkIsStartStopSyncEnabled(link)
      _ = ABLLinkCaptureAppSessionState(link)
      ABLLinkCommitAppSessionState(link, s)
      _ = ABLLinkCaptureAudioSessionState(link)
      ABLLinkCommitAudioSessionState(link, s)
      _ = ABLLinkGetTempo(s)
      _ = ABLLinkIsPlaying(s)
      _ = ABLLinkTimeForIsPlaying(s)
      _ = ABLLinkBpmInRange(0, 1, 256, 48_000)
      ABLLinkSetTempo(s, 120, t)
      _ = ABLLinkBeatAtTime(s, t, 4)
      _ = ABLLinkTimeAtBeat(s, 0, 4)
      _ = ABLLinkPhaseAtTime(s, t, 4)
      ABLLinkRequestBeatAtTime(s, 0, t, 4)
      ABLLinkForceBeatAtTime(s, 0, t, 4)
      ABLLinkSetIsPlaying(s, true, t)
      ABLLinkSetIsPlayingAndRequestBeatAtTime(s, true, t, 0, 4)
      ABLLinkRequestBeatAtStartPlayingTime(s, 0, 4)
      ABLLinkSetSessionTempoCallback(link, { _, _ in }, nil)
      ABLLinkSetStartStopCallback(link, { _, _ in }, nil)
      ABLLinkSetIsConnectedCallback(link, nil, nil)
      ABLLinkSetIsEnabledCallback(link, { _, _ in }, nil)
      ABLLinkSetIsStartStopSyncEnabledCallback(link, { _, _ in }, nil)
      ABLLinkSetIsAudioEnabledCallback(link, { _, _ in }, nil)
      _ = ABLLinkSettingsViewController.self
      _ = ABLLinkTimelineRef.self
      _ = ABLLinkCaptureAudioTimeline(link)
      ABLLinkCommitAudioTimeline(link, s)
      _ = ABLLinkCaptureAppTimeline(link)
      ABLLinkCommitAppTimeline(link, s)
      _ = ABLLinkIsAudioEnabled(link)
      _ = ABLLinkAudioSinkRef.self
      _ = ABLLinkAudioSinkBufferHandleRef.self
      _ = ABLLinkAudioSinkNew(link, "metro", 8192)
      ABLLinkAudioSinkDelete(any)
      _ = ABLLinkAudioSinkMaxNumSamples(any)
      ABLLinkAudioSinkRequestMaxNumSamples(any, 8192)
      _ = ABLLinkAudioRetainBuffer(any)
      _ = ABLLinkAudioSinkBufferHandleIsValid(any)
      _ = ABLLinkAudioSinkBufferSamples(any)
      _ = ABLLinkAudioReleaseAndCommitBuffer(any, any, s, 0, 4, 256, 1, 48_000)
      ABLLinkAudioReleaseBuffer(any)
      ABLLinkSetPropertiesFromASBD(any, any)
      _ = ABLLinkCommitCoreAudioBufferWithBeats(any, s, 0, 4, 256, any)
      _ = ABLLinkCommitCoreAudioBufferWithHostTime(any, s, t, 4, 256, any)
      _ = ABLConvertInt16(0)
      _ = ABLConvertUInt16(0)
      _ = ABLConvertInt32(0)
      _ = ABLConvertUInt32(0)
      _ = ABLConvertFloat(0)
    }
    """

  @Test func `for each name of LinkKit the compiler gives the new name`() async throws {
    let folder = try ScratchFolder()
    try folder.write(Self.program, to: "old.swift")
    let ended = try await ChildProcess.run(
      ["swiftc", "-typecheck", "-I", Lab.products + "/Modules", folder.path + "/old.swift"])
    let errors = ended.errors.split(separator: "\n").filter {
      $0.contains("old.swift:") && $0.contains("error:")
    }
    let calls = Self.program.split(separator: "\n").filter { $0.contains("ABL") }
    #expect(errors.count == calls.count, "\(ended.errors)")
    for error in errors {
      #expect(["is unavailable: ", "has been re"].contains { error.contains($0) }, "\(error)")
    }
  }

  @Test func `the names of LinkKit 2 to 4 in docs/linkkit.md are all tried`() async throws {
    let found = try await ChildProcess.run(["grep", "-oh", "ABL[A-Za-z0-9]*", Lab.top + "/docs/linkkit.md"])
    // The page says that the compiler does not know the names of earlier versions.
    let others: Set<Substring> = ["ABLLink", "ABLLinkProposeTempo", "ABLSync"]
    let names = Set(found.output.split(separator: "\n")).subtracting(others)
    #expect(names.count > 50)
    let words = Set(Self.program.split { !($0.isLetter || $0.isNumber) })
    #expect(names.subtracting(words).isEmpty, "\(names.subtracting(words))")
  }
}
