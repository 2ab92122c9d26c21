// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAddresses
import TactusJSON5
import TactusOSC

// libFuzzer calls this with data of a browser, under the address sanitizer. `tools/bench fuzz web` builds it,
// with the files of TactusWeb that parse the data: a line of a WebSocket, a request's head, or a typed code.
// The parsers of the C libraries are not tested.

@c(LLVMFuzzerTestOneInput)
public func fuzz(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let input = Array(UnsafeBufferPointer(start: bytes, count: count))
  guard let kind = input.first else { return 0 }
  switch kind % 3 {
  case 0: line(input.dropFirst())
  case 1: request(input.dropFirst())
  default: code(input.dropFirst())
  }
  return 0
}

private func line(_ bytes: ArraySlice<UInt8>) {
  do throws(JSONLine.Fault) {
    let message = try JSONLine.message(bytes)
    let packet = LibloCodec.encode(message)
    let back = packet.withUnsafeBytes { try? LibloCodec.messages(in: $0) }
    precondition(back == [message], "as a packet it is another message")
    let told = JSONLine.text(message)
    precondition(!told.utf8.contains(10), "a message of several lines")
    guard let again = try? JSONLine.message(told.utf8) else { preconditionFailure("told, it is no message") }
    precondition(again.address == message.address && again.arguments.count == message.arguments.count)
  } catch {
    precondition(!error.words.isEmpty && !error.words.utf8.contains(10), "a complaint of several lines")
  }
}

/// Parses a request. Its first line has the method and the target; the headers follow, as libmicrohttpd
/// passes them: texts without a zero byte.
private func request(_ bytes: ArraySlice<UInt8>) {
  let lines = bytes.prefix { $0 != 0 }.split(separator: 10, omittingEmptySubsequences: false)
    .map { String(decoding: $0, as: UTF8.self) }
  var request = Request()
  let (method, target) = halves(lines[0], at: " ")
  request.method = method
  for header in lines.dropFirst() {
    let (name, value) = halves(header, at: ":")
    request.add(header: name, value)
  }
  request.host = request.headers["host", default: ""]
  if let (authority, path) = Request.target(target) {
    request.host = authority ?? request.host
    request.path = path
    precondition(path.hasPrefix("/"), "a path from nowhere")
  }
  request.query = request.path.split(separator: "?", maxSplits: 1).dropFirst().first.map(String.init)
  if request.isFor("stage"), let name = request.host.utf8.first, name >= 0x61 {
    let own = ["localhost", "stage"].contains { request.host.lowercased().hasPrefix($0) }
    precondition(own || request.host.contains(":"), "\(request.host) is another machine")
  }
  precondition(!request.host.isEmpty || !request.isFor("stage"), "who names nobody means us")
  if !request.namesOrigin { precondition(request.isFromOurPage) }
  precondition(request.headers.count <= Request.heard.count)
  precondition(request.cookie("tactus-012345").map { !$0.contains(";") } ?? true, "a cookie of two")
  if let accept = Handshake.accept(request) {
    precondition(accept.utf8.count == 28 && request.method == "GET", "an answer that is none")
  }
}

private func halves(_ text: String, at mark: Character) -> (String, String) {
  let parts = text.split(separator: mark, maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
  return (parts[0], parts.count > 1 ? parts[1] : "")
}

private func code(_ bytes: ArraySlice<UInt8>) {
  let secret = Secret(code: "0123456789ABCDEF", token: "0123456789ABCDEF0123456789ABCDEF")!
  guard let letters = Secret.canonical(bytes) else { return }
  precondition(
    letters.count <= bytes.count && Secret.canonical(letters) == letters,
    "it means something else the second time")
  if letters.equals(secret.code.utf8) {
    precondition(letters == Array(secret.code.utf8), "a wrong code is right")
  }
}
