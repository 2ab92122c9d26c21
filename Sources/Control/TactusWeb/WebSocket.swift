// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusMicrohttpd
import CTactusWslay
import Glibc
import LinkBeatMath
import LinkSystem
import TactusOSC
import TactusSurface

/// One WebSocket: wslay parses and builds the frames; this type reads and writes the bytes. It never blocks,
/// and buffers at most `WebLimits.outbox` bytes for the other side.
final class WebSocket {
  enum Form {
    case text, binary
  }

  enum Heard {
    case text([UInt8])
    case binary([UInt8])
  }

  let peer: Peer
  let descriptor: Int32
  /// Text or binary, as in the browser's first message; nil: no message yet.
  var form: Form?
  /// The rows to which the browser listens by OSCQuery, each with the group that delivers it.
  var listened: [String: Group] = [:]
  /// Whether the browser has sent LISTEN or IGNORE. From then on it gets only the rows to which it listens.
  var isListener = false
  var groups: Group = []
  var errors: TokenBucket
  private var packets: TokenBucket
  private let handle: OpaquePointer
  private var context: OpaquePointer?
  private var early: [UInt8]
  private var inbox: [Heard] = []
  private var outbox: [UInt8] = []
  private var written = 0
  private var room = 0
  private var heard: Micros
  private var isAsked = false
  /// Whether the connection is lost.
  private(set) var isBroken = false
  /// Whether the browser has read our output too slowly.
  private(set) var isSlow = false

  init?(_ peer: Peer, _ descriptor: Int32, handle: OpaquePointer, early: [UInt8], at now: Micros) {
    self.peer = peer
    self.descriptor = descriptor
    self.handle = handle
    self.early = early
    heard = now
    packets = TokenBucket(perSecond: WebLimits.packetsPerSecond, capacity: WebLimits.packetsAtOnce, at: now)
    errors = TokenBucket(perSecond: WebLimits.errorsPerSecond, capacity: WebLimits.errorsPerSecond, at: now)
    setOption(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
    setOption(descriptor, SOL_SOCKET, SO_SNDBUF, WebLimits.kernelOutbox)
    var calls = wslay_event_callbacks()
    calls.recv_callback = readBytes
    calls.send_callback = writeBytes
    calls.on_msg_recv_callback = receiveMessage
    guard wslay_event_context_server_init(&context, &calls, Unmanaged.passUnretained(self).toOpaque()) == 0
    else {
      return nil
    }
    wslay_event_config_set_max_recv_msg_length(context, UInt64(WebLimits.message))
  }

  deinit {
    wslay_event_context_free(context)
    web_end(handle)
  }

  var isOver: Bool {
    isBroken || isSlow
      || (wslay_event_want_read(context) == 0 && wslay_event_want_write(context) == 0 && !wantsToWrite)
  }

  var wantsToWrite: Bool { written < outbox.count }
  var waits: Int { outbox.count - written + wslay_event_get_queued_msg_length(context) }

  /// Whether the limits allow more input now; otherwise the socket is not read.
  func mayRead(at now: Micros) -> Bool { packets.has(1, at: now) && waits < WebLimits.outbox / 2 }
  func mayReadAgain(at now: Micros) -> Micros { packets.time(of: 1) }
  var hasEarly: Bool { !early.isEmpty }

  /// Reads the input that has arrived, at most `WebLimits.bytesAtOnce`.
  func read(at now: Micros) -> [Heard] {
    room = WebLimits.bytesAtOnce
    inbox = []
    if wslay_event_recv(context) != 0 { isBroken = true }
    if !inbox.isEmpty { packets.spend(Double(inbox.count), at: now) }
    write()
    return inbox
  }

  func send(_ bytes: [UInt8], _ form: Form) {
    guard !isSlow else { return }
    bytes.withUnsafeBufferPointer { buffer in
      let opcode = form == .text ? WSLAY_TEXT_FRAME : WSLAY_BINARY_FRAME
      var message = wslay_event_msg(
        opcode: UInt8(opcode.rawValue), msg: buffer.baseAddress, msg_length: buffer.count)
      if wslay_event_queue_msg(context, &message) != 0 { isBroken = true }
    }
    if waits > WebLimits.outbox { isSlow = true }
  }

  /// Writes as much output as the kernel takes.
  func write() {
    if wslay_event_want_write(context) != 0, wslay_event_send(context) != 0 { isBroken = true }
    while written < outbox.count {
      let count = outbox.withUnsafeBytes { raw in
        Glibc.send(descriptor, raw.baseAddress! + written, raw.count - written, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else {
        if errno != EAGAIN, errno != EINTR { isBroken = true }
        break
      }
      written += count
    }
    if written == outbox.count {
      outbox.removeAll(keepingCapacity: outbox.count < 16_384)
      written = 0
    }
    if waits > WebLimits.outbox { isSlow = true }
  }

  // MARK: pings after a silence

  var deadline: Micros { heard + Micros(Int64(isAsked ? WebLimits.silence : WebLimits.ping)) }

  /// Sends a ping after a silence. Returns true if the last ping was not answered.
  func isGone(at now: Micros) -> Bool {
    guard !isAsked else { return true }
    isAsked = true
    var message = wslay_event_msg(opcode: UInt8(WSLAY_PING.rawValue), msg: nil, msg_length: 0)
    if wslay_event_queue_msg(context, &message) != 0 { isBroken = true }
    write()
    return false
  }

  /// Sends a close frame with this status code.
  func sayGoodbye(_ code: UInt16) {
    _ = wslay_event_queue_close(context, code, nil, 0)
    write()
  }

  // MARK: wslay's calls

  fileprivate func drain(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard room > 0, !buffer.isEmpty else { return -1 }
    if !early.isEmpty {
      let count = min(early.count, buffer.count)
      buffer.copyBytes(from: early[..<count])
      early.removeFirst(count)
      return count
    }
    let count = recv(descriptor, buffer.baseAddress, min(buffer.count, room), 0)
    if count > 0 {
      room -= count
      heard = HostClock.micros()
      isAsked = false
      return count
    }
    if count == 0 || (errno != EAGAIN && errno != EINTR) { isBroken = true }
    return -1
  }

  fileprivate func put(_ bytes: UnsafeRawBufferPointer) {
    if written > 0, written == outbox.count {
      outbox.removeAll(keepingCapacity: true)
      written = 0
    }
    outbox += bytes
  }

  fileprivate func receive(_ message: Heard) { inbox.append(message) }
}

private func socket(_ context: UnsafeMutableRawPointer?) -> WebSocket {
  Unmanaged<WebSocket>.fromOpaque(context!).takeUnretainedValue()
}

private func readBytes(
  _ events: OpaquePointer?, _ buffer: UnsafeMutablePointer<UInt8>?, _ count: Int, _ flags: Int32,
  _ context: UnsafeMutableRawPointer?
) -> Int {
  let socket = socket(context)
  let read = socket.drain(into: UnsafeMutableRawBufferPointer(start: buffer, count: count))
  if read < 0 {
    wslay_event_set_error(
      events, Int32(socket.isBroken ? WSLAY_ERR_CALLBACK_FAILURE.rawValue : WSLAY_ERR_WOULDBLOCK.rawValue))
  }
  return read
}

private func writeBytes(
  _ events: OpaquePointer?, _ bytes: UnsafePointer<UInt8>?, _ count: Int, _ flags: Int32,
  _ context: UnsafeMutableRawPointer?
) -> Int {
  socket(context).put(UnsafeRawBufferPointer(start: bytes, count: count))
  return count
}

private func receiveMessage(
  _ events: OpaquePointer?, _ message: UnsafePointer<wslay_event_on_msg_recv_arg>?,
  _ context: UnsafeMutableRawPointer?
) {
  guard let message = message?.pointee else { return }
  let bytes = Array(UnsafeBufferPointer(start: message.msg, count: message.msg_length))
  switch UInt32(message.opcode) {
  case WSLAY_TEXT_FRAME.rawValue: socket(context).receive(.text(bytes))
  case WSLAY_BINARY_FRAME.rawValue: socket(context).receive(.binary(bytes))
  default: break
  }
}
