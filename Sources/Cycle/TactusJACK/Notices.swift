// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK
import LinkHandoff
import Synchronization

/// JACK's notifications since the control thread last looked.
struct Notices: OptionSet, Sendable {
  let rawValue: UInt32

  static let shutdown = Notices(rawValue: 1)
  static let period = Notices(rawValue: 2)
  static let sampleRate = Notices(rawValue: 4)
  /// Ports or connections came or went.
  static let graph = Notices(rawValue: 8)
  static let freewheel = Notices(rawValue: 16)
  /// Ports or clients came or went.
  static let clients = Notices(rawValue: 32)
  /// The audio thread noticed that the driver was late.
  static let lateness = Notices(rawValue: 64)
}

/// The board on which JACK's notification callbacks leave notices. The callbacks run on libjack's threads, on
/// PipeWire perhaps on the audio thread, so they only store into atomics. They wake no thread: the control
/// thread looks at the board often.
struct NoticeBoard: ~Copyable, Sendable {
  private let pending = Atomic<UInt32>(0)
  private let clients = Atomic<Int32>(0)
  private let xruns = Atomic<UInt>(0)
  private let refusedLatencies = Atomic<UInt>(0)
  private let freewheeling = Atomic<Bool>(false)
  private let rate = Atomic<UInt32>(0)
  private let shutdownReason = Latest(ShortText())
  private let shutdown = Atomic<Bool>(false)

  func post(_ notice: Notices) {
    _ = pending.bitwiseOr(notice.rawValue, ordering: .releasing)
  }

  /// [control]
  func drain() -> Notices { Notices(rawValue: pending.exchange(0, ordering: .acquiring)) }

  /// Clears the notices of an earlier client. Call this before a new client is activated. [control]
  func clear(sampleRate: UInt32) {
    pending.store(0, ordering: .relaxed)
    freewheeling.store(false, ordering: .relaxed)
    shutdown.store(false, ordering: .relaxed)
    rate.store(sampleRate, ordering: .releasing)
  }

  var isFreewheeling: Bool { freewheeling.load(ordering: .relaxed) }

  /// Frames per second. [any]
  var sampleRate: UInt32 { rate.load(ordering: .relaxed) }

  /// Number of times that the driver was late. [any]
  var xrunCount: UInt { xruns.load(ordering: .relaxed) }

  /// The number of clients that came, minus the number that went, since this board was made. [any]
  var clientCount: Int32 { clients.load(ordering: .relaxed) }

  /// Whether the server has gone or thrown us out. [any]
  var isShutDown: Bool { shutdown.load(ordering: .acquiring) }

  /// JACK's own words about the end of the server. [control]
  var reason: String { shutdownReason.read().description }

  /// [control]
  func countXrun() { xruns.wrappingAdd(1, ordering: .relaxed) }

  /// Number of impossible latencies that were refused. [any]
  var refusedLatencyCount: UInt { refusedLatencies.load(ordering: .relaxed) }

  /// [control]
  func countRefusedLatency() { refusedLatencies.wrappingAdd(1, ordering: .relaxed) }

  func countClient(isThere: Bool) { clients.wrappingAdd(isThere ? 1 : -1, ordering: .relaxed) }

  func setFreewheeling(_ on: Bool) {
    freewheeling.store(on, ordering: .relaxed)
    post(.freewheel)
  }

  func setSampleRate(_ frames: UInt32) {
    // jack2 calls this callback once while it is being set, with the present sample rate.
    if rate.exchange(frames, ordering: .relaxed) != frames { post(.sampleRate) }
  }

  func setShutdown(reason: ShortText) {
    shutdownReason.publish(reason)
    shutdown.store(true, ordering: .releasing)
    post(.shutdown)
  }

  /// Registers every callback except the one for xruns. While a client is stopped there are hundreds of
  /// xruns, and jackd would notify each client of each xrun. These notifications overflow jackd's channel to
  /// its clients, and then jackd answers no client any more (facts: jack 8). `shared` must outlive the
  /// client. [control]
  static func attach(_ shared: UnsafePointer<SharedState>, to client: OpaquePointer) {
    let context = UnsafeMutableRawPointer(mutating: shared)
    // If both shutdown callbacks are set, jack2 calls only the callback with a reason. PipeWire 0.3 knows
    // only the callback without a reason.
    jack_on_shutdown(client, noteSilentShutdown, context)
    jack_on_info_shutdown(client, noteShutdown, context)
    jack_set_freewheel_callback(client, noteFreewheel, context)
    jack_set_buffer_size_callback(client, notePeriod, context)
    jack_set_sample_rate_callback(client, noteSampleRate, context)
    jack_set_port_connect_callback(client, noteConnection, context)
    jack_set_port_registration_callback(client, noteRegistration, context)
    // When a client leaves, jack2 makes the calls registered above while the client's ports still exist.
    // After the ports are gone, it calls only the client registration callback.
    jack_set_client_registration_callback(client, noteClient, context)
    jack_set_graph_order_callback(client, noteOrder, context)
    jack_set_latency_callback(client, passNoLatency, context)
  }

  /// Removes the callbacks of a deactivated client, so that the server sends the client no notification that
  /// the client might never read (`ServerTurn`). [control]
  static func detach(from client: OpaquePointer) {
    jack_set_freewheel_callback(client, nil, nil)
    jack_set_buffer_size_callback(client, nil, nil)
    jack_set_sample_rate_callback(client, nil, nil)
    jack_set_port_connect_callback(client, nil, nil)
    jack_set_port_registration_callback(client, nil, nil)
    jack_set_client_registration_callback(client, nil, nil)
    jack_set_graph_order_callback(client, nil, nil)
    jack_set_latency_callback(client, nil, nil)
  }
}

/// The latency callback, which leaves our ports' latencies at 0, as they are when JACK registers a port. No
/// signal passes from our inputs to our outputs, so an output has no capture latency and an input no playback
/// latency. Without this callback JACK gives each output the longest latency of the inputs, and each input
/// that of the outputs. The latencies that we read come from connections, whatever this callback does.
@_noLocks @_noAllocation
private func passNoLatency(_ mode: jack_latency_callback_mode_t, _ context: UnsafeMutableRawPointer?) {}

// The callbacks are named functions, never closures. A closure literal would carry the isolation of its
// surroundings into libjack's threads, where Swift checks the isolation and ends the program.

private func shared(_ context: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<SharedState> {
  context!.assumingMemoryBound(to: SharedState.self)
}

private func noteShutdown(
  _ code: jack_status_t, _ reason: UnsafePointer<CChar>?, _ context: UnsafeMutableRawPointer?
) {
  shared(context).pointee.board.setShutdown(reason: ShortText(reason))
}

private func noteSilentShutdown(_ context: UnsafeMutableRawPointer?) {
  shared(context).pointee.board.setShutdown(reason: ShortText())
}

@_noLocks @_noAllocation
private func noteFreewheel(_ starting: Int32, _ context: UnsafeMutableRawPointer?) {
  shared(context).pointee.board.setFreewheeling(starting != 0)
}

@_noLocks @_noAllocation
private func notePeriod(_ frames: UInt32, _ context: UnsafeMutableRawPointer?) -> Int32 {
  shared(context).pointee.board.post(.period)
  return 0
}

@_noLocks @_noAllocation
private func noteSampleRate(_ frames: UInt32, _ context: UnsafeMutableRawPointer?) -> Int32 {
  shared(context).pointee.board.setSampleRate(frames)
  return 0
}

@_noLocks @_noAllocation
private func noteConnection(
  _ one: jack_port_id_t, _ other: jack_port_id_t, _ connected: Int32, _ context: UnsafeMutableRawPointer?
) {
  shared(context).pointee.board.post(.graph)
}

@_noLocks @_noAllocation
private func noteRegistration(
  _ port: jack_port_id_t, _ registered: Int32, _ context: UnsafeMutableRawPointer?
) {
  shared(context).pointee.board.post(.graph)
  shared(context).pointee.board.post(.clients)
}

@_noLocks @_noAllocation
private func noteClient(
  _ name: UnsafePointer<CChar>?, _ registered: Int32, _ context: UnsafeMutableRawPointer?
) {
  shared(context).pointee.board.countClient(isThere: registered != 0)
  shared(context).pointee.board.post(.clients)
}

@_noLocks @_noAllocation
private func noteOrder(_ context: UnsafeMutableRawPointer?) -> Int32 {
  shared(context).pointee.board.post(.graph)
  return 0
}

/// A short text from a C string, held without heap memory, so that it can cross threads. Longer text is cut.
struct ShortText: BitwiseCopyable, Sendable, CustomStringConvertible {
  static let limit = 120

  private var bytes = InlineArray<120, UInt8>(repeating: 0)
  private var count = 0

  init() {}

  init(_ text: UnsafePointer<CChar>?) {
    guard let text else { return }
    while count < Self.limit, text[count] != 0 {
      bytes[count] = UInt8(bitPattern: text[count])
      count += 1
    }
  }

  var description: String {
    var text: [UInt8] = []
    for index in 0..<count { text.append(bytes[index]) }
    return String(decoding: text, as: UTF8.self)
  }
}
