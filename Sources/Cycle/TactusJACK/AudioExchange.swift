// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
public import LinkBeatMath
import LinkHandoff
import Synchronization
public import TactusChoices
public import TactusSync

/// Everything that crosses between the audio thread and the other threads. All members are constants: atomics
/// and handoffs, each with one writer and one reader.
///
/// The struct has more than 20 properties, because each value crosses between two threads by itself.
struct SharedState: ~Copyable, Sendable {
  // The audio thread reads the values below.
  let session: Latest<SessionView>
  let settings: Latest<Settings>
  let sounds = Latest(SoundBank())
  let clockMap = Latest(ClockMap.identity)
  let latencies = Latest(PerPort<UInt32>(repeating: 0))
  let relocation = Latest(Relocation?.none)
  let channels = Latest(ChannelTable())
  let outputs = Latest(OutputTable())
  /// How often the port `clock` went from no connection to one.
  let clockConnections = Atomic<UInt32>(0)
  /// The longest delay of the user's own outputs (`Cycle.ownDelay`), in microseconds.
  let ownDelay = Atomic<Int64>(0)
  /// Whether we are about to leave the server. Then the port `clock` sends Stop and nothing more.
  let isLeaving = Atomic(false)
  // The audio thread writes the values below, except `startStopsTaken`.
  let report = Latest(Report())
  let figures = Latest(OutputFigures())
  let control = SPSCQueue<ControlMessage>(capacity: 256)
  let proposals = SPSCQueue<Proposal>(capacity: 64)
  /// The number of the last start or stop proposal that was taken from `proposals`. Only one thread uses this
  /// number: the thread that takes proposals and publishes the session.
  let startStopsTaken = Atomic<UInt32>(0)
  let cycles = Atomic<UInt>(0)
  /// The number of the newest channel table that the audio thread has read. The audio thread no longer uses
  /// any earlier channel table.
  let channelsSeen = Atomic<UInt32>(0)
  /// The number of the newest table of the user's own outputs that the audio thread has read.
  let outputsSeen = Atomic<UInt32>(0)
  /// How often JACK asked us, as timebase master, for bar and beat.
  let timebaseCalls = Atomic<UInt>(0)
  // libjack's notification threads write the board, and the audio thread and the control thread read it.
  let board = NoticeBoard()

  init(session: SessionState, settings: Settings) {
    self.session = Latest(SessionView(session, startStopsTaken: 0))
    self.settings = Latest(settings)
  }
}

/// The other threads' access to the audio thread. The tag of each function, such as [control], names the
/// thread that may call it. The exchange outlives clients and servers.
public final class AudioExchange: Sendable {
  // This memory never moves, because the audio thread holds its address.
  nonisolated(unsafe) let shared: UnsafeMutablePointer<SharedState>

  public init(session: SessionState, settings: Settings) {
    shared = .allocate(capacity: 1)
    shared.initialize(to: SharedState(session: session, settings: settings))
    lockInMemory()
  }

  deinit {
    shared.deinitialize(count: 1)
    shared.deallocate()
  }

  /// Keeps the audio thread's memory from being paged out: libjack locks only its own memory. If
  /// RLIMIT_MEMLOCK is small, the system refuses the lock. That matters only on a machine that is short of
  /// memory.
  private func lockInMemory() {
    func lock(_ block: UnsafeRawBufferPointer) { mlock(block.baseAddress, block.count) }
    lock(UnsafeRawBufferPointer(start: shared, count: MemoryLayout<SharedState>.size))
    shared.pointee.session.forEachBlock(lock)
    shared.pointee.settings.forEachBlock(lock)
    shared.pointee.sounds.forEachBlock(lock)
    shared.pointee.clockMap.forEachBlock(lock)
    shared.pointee.latencies.forEachBlock(lock)
    shared.pointee.relocation.forEachBlock(lock)
    shared.pointee.channels.forEachBlock(lock)
    shared.pointee.outputs.forEachBlock(lock)
    shared.pointee.figures.forEachBlock(lock)
    shared.pointee.report.forEachBlock(lock)
    shared.pointee.control.forEachBlock(lock)
    shared.pointee.proposals.forEachBlock(lock)
  }

  /// A published session takes effect in the next cycle. [network]
  public func publish(_ session: SessionState) {
    let taken = shared.pointee.startStopsTaken.load(ordering: .relaxed)
    shared.pointee.session.publish(SessionView(session, startStopsTaken: taken))
  }

  /// Published settings take effect in the next cycle. [control]
  public func publish(_ settings: Settings) { shared.pointee.settings.publish(settings) }

  /// Published sounds take effect in the next cycle. The caller still owns the sounds' memory, and keeps it
  /// as long as `SoundBank` says. [control]
  public func publish(_ sounds: SoundBank) { shared.pointee.sounds.publish(sounds) }

  /// The last cycle's report. [control]
  public func report() -> Report { shared.pointee.report.read() }

  /// Takes the oldest waiting message that came in through the port `control`. [control]
  public func nextControlMessage() -> ControlMessage? { shared.pointee.control.pop() }

  /// Takes the oldest waiting change to the session that the audio thread proposes. The caller commits the
  /// change, and then publishes the session even if the session did not change. [network]
  public func nextProposal() -> Proposal? {
    let proposal = shared.pointee.proposals.pop()
    if let proposal, case .playing = proposal.change {
      shared.pointee.startStopsTaken.store(proposal.number, ordering: .relaxed)
    }
    return proposal
  }

  /// Number of audio cycles so far. [any]
  public var cycleCount: Int { Int(clamping: shared.pointee.cycles.load(ordering: .relaxed)) }

  /// Number of times that the driver was late. [any]
  public var xrunCount: Int { Int(clamping: shared.pointee.board.xrunCount) }

  /// Number of impossible latencies that were replaced by 0. [any]
  public var refusedLatencyCount: Int { Int(clamping: shared.pointee.board.refusedLatencyCount) }

  /// Whether the server freewheels. [any]
  public var isFreewheeling: Bool { shared.pointee.board.isFreewheeling }
}

/// A MIDI message that arrived at the port `control`, and the time of its arrival. Other modules interpret
/// the message.
public struct ControlMessage: Sendable, BitwiseCopyable {
  /// The longest message that is kept, in bytes. MIDI Machine Control's locate has 13 bytes.
  static var longest: Int { 16 }

  /// The time of the message's arrival, on Link's clock.
  public private(set) var moment: Micros
  private var count: UInt8
  private var storage = InlineArray<16, UInt8>(repeating: 0)

  /// Bytes beyond `longest` are cut off.
  init(_ bytes: UnsafePointer<UInt8>, count: Int, at moment: Micros) {
    self.moment = moment
    self.count = UInt8(truncatingIfNeeded: min(count, Self.longest))
    for index in 0..<Int(self.count) { storage[index] = bytes[index] }
  }

  /// The bytes of the message. [control]
  public var bytes: [UInt8] { (0..<Int(count)).map { storage[$0] } }
}
