// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusOSC
import TactusSurface

/// Turns a browser's messages into packets for the surface, and the surface's packets into messages.
enum Conversation {
  enum Word {
    case packet([UInt8])
    /// The message was malformed, and the browser has got an error.
    case fault
  }

  static func words(
    _ heard: WebSocket.Heard, _ socket: WebSocket, _ snapshot: @autoclosure () -> SurfaceSnapshot,
    at now: Micros
  ) -> [Word] {
    switch heard {
    case .binary(let bytes):
      socket.form = socket.form ?? .binary
      return [.packet(bytes)]
    case .text(let bytes) where bytes.first == UInt8(ascii: "{"):
      // The first message decides the form: after a LISTEN or IGNORE of OSCQuery, answers are binary packets;
      // after any other text that begins with a brace, text.
      socket.form = socket.form ?? (Listening.wish(bytes) == nil ? .text : .binary)
      return listen(bytes, socket, snapshot(), at: now)
    case .text(let bytes):
      socket.form = socket.form ?? .text
      return lines(bytes, socket, at: now)
    }
  }

  private static func lines(_ bytes: [UInt8], _ socket: WebSocket, at now: Micros) -> [Word] {
    var packets: [[UInt8]] = []
    var faults: [Word] = []
    for line in bytes.split(separator: UInt8(ascii: "\n"))
    where !line.allSatisfy({ $0 == 0x20 || $0 == 0x0d }) {
      do throws(JSONLine.Fault) {
        packets.append(LibloCodec.encode(try JSONLine.message(line)))
      } catch {
        refuse(error, socket, at: now)
        faults.append(.fault)
      }
    }
    return Bundle.pack(packets).map { .packet($0) } + faults
  }

  /// Sends one error message in the same form as the surface does.
  private static func refuse(_ fault: JSONLine.Fault, _ socket: WebSocket, at now: Micros) {
    guard socket.errors.trySpend(at: now) else { return }
    let shown = printable(fault.address, limit: 80)
    let message = Message(
      Table.address("error"), .string("\(shown.isEmpty ? "this line" : shown): \(fault.words)"),
      .string(shown),
      .int32(Refusal.Code.malformed.rawValue))
    tell(message, socket)
  }

  private static func tell(_ message: Message, _ socket: WebSocket) {
    switch socket.form ?? .text {
    case .text: socket.send(Array(JSONLine.text(message).utf8), .text)
    case .binary: socket.send(LibloCodec.encode(message), .binary)
    }
  }

  private static func listen(
    _ bytes: [UInt8], _ socket: WebSocket, _ snapshot: SurfaceSnapshot, at now: Micros
  ) -> [Word] {
    guard let (command, path) = Listening.wish(bytes), ["LISTEN", "IGNORE"].contains(command) else {
      refuse(JSONLine.Fault(words: "only LISTEN and IGNORE are accepted"), socket, at: now)
      return [.fault]
    }
    guard let (row, group) = Listening.row(path, in: snapshot) else {
      refuse(
        JSONLine.Fault(words: "there is no value to listen to at this address", address: path), socket,
        at: now)
      return [.fault]
    }
    socket.isListener = true
    socket.listened[path] = command == "LISTEN" ? group : nil
    let groups = socket.listened.values.reduce(into: Group()) { $0.formUnion($1) }
    var messages: [Message] = []
    if groups != socket.groups {
      socket.groups = groups
      messages.append(
        groups.isEmpty
          ? Message(Table.address("unsubscribe")) : Message(Table.address("subscribe"), .string(groups.words))
      )
    }
    // After a LISTEN, ask for the row's present value, too.
    if command == "LISTEN", row.isReadable { messages.append(Message(path)) }
    return Bundle.pack(messages.map(LibloCodec.encode)).map { .packet($0) }
  }

  // MARK: to the browser

  private static func messages(_ packet: [UInt8]) -> [Message] {
    packet.withUnsafeBytes { (try? LibloCodec.messages(in: $0)) ?? [] }
  }

  static func lines(_ packet: [UInt8]) -> [UInt8] {
    Array(messages(packet).map(JSONLine.text).joined(separator: "\n").utf8)
  }

  static func filtered(_ packet: [UInt8], _ listened: [String: Group], _ form: WebSocket.Form) -> [[UInt8]] {
    let messages = Listening.filtered(messages(packet), listened)
    guard !messages.isEmpty else { return [] }
    switch form {
    case .text: return [Array(messages.map(JSONLine.text).joined(separator: "\n").utf8)]
    // Send the messages one by one: few programs that listen by OSCQuery can take bundles apart.
    case .binary: return messages.map(LibloCodec.encode)
    }
  }
}
