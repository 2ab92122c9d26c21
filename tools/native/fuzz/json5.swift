// SPDX-License-Identifier: GPL-2.0-or-later
import TactusJSON5

// libFuzzer calls this with each mutated document, under the address sanitizer. `tools/bench fuzz` builds it.

@c(LLVMFuzzerTestOneInput)
public func fuzz(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let document = Array(UnsafeRawBufferPointer(start: bytes, count: count))
  let lines = document.count { $0 == 10 || $0 == 13 } + 1
  do throws(JSON5.Fault) {
    let element = try JSON5.read(document)
    precondition((1...lines).contains(element.line), "a line that is not there")
    // A value that was written must be valid JSON5 and read back equal.
    let again = try JSON5.read(Array(element.value.text.utf8))
    precondition(again.value.text == element.value.text, "read, written and read again it differs")
  } catch {
    precondition((1...lines).contains(error.line), "a fault on a line that is not there")
    precondition(!error.text.isEmpty && !error.text.utf8.contains(10), "a complaint of several lines")
  }
  return 0
}
