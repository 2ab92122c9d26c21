// SPDX-License-Identifier: GPL-2.0-or-later

/// A Link peer in another process, driven by the line protocol of
/// `tools/lib/workshop/peers/lines.py` (its command `help` lists it).
public final class LabPeer: Sendable {
  public typealias Fields = [String: FlatJSON]

  public enum Kind: Sendable {
    /// Debian's version of Ableton's LinkHut (Link 3.0.6), driven by its keys
    /// and read from its status line; needs a JACK server.
    case linkhut
    /// The newest version of Ableton's library on PyPI.
    case reference
    /// aalink, Link for live coding in Python (`peers/aalink.py`): newer Link code than Debian's.
    case aalink
    /// JACK's transport on the host, as any JACK client sees it; no Link.
    case jack
    /// A drum machine that sends MIDI clock and sounds on each of its beats
    /// (`tools/native/drums.c`); no Link.
    case drums
    /// The first loop of a running SooperLooper (`peers/looper.py`); no Link.
    case looper
    /// An OSC controller of tactus (`peers/controller.py`); no Link.
    case controller
    /// A real Chromium without a window (`peers/browser.py`); no Link.
    case browser
    /// Other browsers (`peers/other_browser.py`): Firefox, and WebKitGTK, which has Safari's engine; no Link.
    case firefox
    case webkit
    /// Any other program with the same line protocol.
    case program([String])
  }

  public struct Refused: Error, CustomStringConvertible {
    public let line: String
    public let answer: String
    public var description: String { "\(line): \(answer)" }
  }

  public let kind: Kind
  private let process: ChildProcess

  public init(_ kind: Kind, in stage: LabStage, on host: Int = 1) throws {
    self.kind = kind
    let command =
      switch kind {
      case .linkhut: [Lab.tool, "peer", "linkhut"]
      case .reference: [Lab.tool, "peer", "reference"]
      case .aalink: [Lab.tool, "peer", "aalink"]
      case .jack: [Lab.tool, "peer", "jack"]
      case .drums: [Lab.tool, "peer", "drums"]
      case .looper: [Lab.tool, "peer", "looper"]
      case .controller: [Lab.tool, "peer", "controller"]
      case .browser: [Lab.tool, "peer", "browser"]
      case .firefox: [Lab.tool, "peer", "firefox"]
      case .webkit: [Lab.tool, "peer", "webkit"]
      case .program(let command): command
      }
    process = try ChildProcess(stage.command(on: host, command))
  }

  /// Sends a command and returns its answer.
  @discardableResult
  public func ask(_ line: String, within limit: Duration = .seconds(20)) async throws -> Fields {
    process.send(line)
    return try await answer(to: line, within: limit)
  }

  /// Sends a command without waiting, so that several peers can work at once; `answer` gets the reply.
  public func send(_ line: String) { process.send(line) }

  public func answer(to line: String, within limit: Duration = .seconds(20)) async throws -> Fields {
    guard let text = try await process.line(within: limit) else {
      throw ChildProcess.Failure.ended(status: await process.status(), errors: process.saidOnErrors)
    }
    guard let fields = FlatJSON.object(text), fields["ok"] == .boolean(true) else {
      throw Refused(line: line, answer: text)
    }
    return fields
  }

  /// The peer's present status.
  public func status() async throws -> PeerStatus { try await PeerStatus(ask("status")) }

  /// Waits until the peer's status shows a value, for at most `seconds`, and returns the status.
  @discardableResult
  public func wait(_ field: String, _ value: String, seconds: Double = 15) async throws -> PeerStatus {
    try await PeerStatus(ask("wait \(field) \(value) \(seconds)", within: .seconds(seconds + 10)))
  }

  /// The age at which a session is certainly older than any that begins later. Of two sessions that began
  /// within half a second, the one with the smaller id wins; and Ableton's library begins its session up to
  /// half a second after it says that it is enabled (facts: link 7.4, 9.3).
  public static let ageThatCounts = Duration.milliseconds(1200)

  /// Starts a session that is older than any session that begins later.
  public func found() async throws {
    try await ask("enable on")
    try await Task.sleep(for: Self.ageThatCounts)
  }

  /// Makes the peer leave the session with a goodbye, and ends it.
  public func quit() async throws {
    try await ask("quit")
    process.closeInput()
    await process.status()
  }

  /// Ends the peer at once, without a goodbye.
  public func kill() async {
    process.signal(9)
    await process.status()
  }
}

/// The values that every peer's status has.
public struct PeerStatus: Sendable {
  public let fields: [String: FlatJSON]

  public init(_ fields: [String: FlatJSON]) { self.fields = fields }

  public var peers: Int { Int(fields["peers"]?.number ?? -1) }
  public var tempo: Double { fields["tempo"]?.number ?? .nan }
  public var beat: Double { fields["beat"]?.number ?? .nan }
  public var phase: Double { fields["phase"]?.number ?? .nan }
  public var isPlaying: Bool { fields["playing"] == .boolean(true) }
  public var isEnabled: Bool { fields["enabled"] == .boolean(true) }
  /// The time, in microseconds of Link's clock, at which the session was at `beat`.
  public var time: Int64 { Int64(fields["time"]?.number ?? 0) }
  /// The seconds that a `wait` has taken.
  public var waited: Double { fields["waited"]?.number ?? .nan }
}
