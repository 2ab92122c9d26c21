// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

/// Compiles whole modules as Embedded Swift without allocation. This is stricter than the annotations
/// (`@_noAllocation`), which check only called functions. It also shows that the modules need no operating
/// system.
struct EmbeddedTests {
  /// The limit for the compiler is long, because it gets only the processor time that the other tests leave.
  private static let patience = Duration.seconds(900)

  @Test
  func `modules for real time allocate nothing, Link's need no system`()
    throws
  {
    let result = try ChildProcess.run(["\(Lab.top)/tools/lint-embedded"], within: Self.patience)
    #expect(result.status == 0, "\(result.errors)")
    let lines = ["", ", on aarch64-none-none-elf"].flatMap { machine in
      ["LinkBeatMath", "LinkAudioPath", "TactusChoices", "TactusSync"].map {
        "\($0): allocates nothing\(machine)\n"
      }
    }
    let machines = ["arm64-apple-none-macho", "wasm32-unknown-none-wasm"]
    let portable = machines.flatMap { machine in
      ["LinkBeatMath", "LinkAddresses", "LinkWire", "LinkSession"].map {
        "\($0): needs no operating system, on \(machine)\n"
      }
    }
    #expect(result.output == (lines + portable).joined())
  }

  @Test func `the check for allocations finds a planted one`() throws {
    var path = Array("/tmp/planted-XXXXXX.swift".utf8CString)
    let file = mkstemps(&path, 6)
    defer {
      close(file)
      unlink(path)
    }
    var text = "func planted() -> [Int] { [1, 2, 3] }"
    let written = text.withUTF8 { write(file, $0.baseAddress, $0.count) }
    try #require(written == text.utf8.count)
    let name = String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let result = try ChildProcess.run(["\(Lab.top)/tools/lint-embedded", name], within: Self.patience)
    #expect(result.status != 0)
    #expect(!result.output.contains("TactusSync"))
  }
}
