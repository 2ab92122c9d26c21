// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TestSupport
import Testing

/// The whole modules compiled in a dialect that can't allocate: stricter than the annotations, which follow calls.
struct NoAllocationTests {
  private var tool: String {
    var path = #filePath.split(separator: "/")
    path.removeLast(3)
    return "/" + path.joined(separator: "/") + "/tools/lint-no-allocation"
  }

  /// The compiler has what time the other tests leave.
  private static let patience = Duration.seconds(900)

  @Test func nothingInThePureRealTimeModulesCanAllocate() throws {
    let result = try ChildProcess.run([tool], within: Self.patience)
    #expect(result.status == 0, "\(result.errors)")
    let lines = ["", ", on aarch64-none-none-elf"].flatMap { machine in
      ["BeatMath", "LinkAudioPath", "Choices", "HostSync"].map { "\($0): allocates nothing\(machine)\n" }
    }
    #expect(result.output == lines.joined())
  }

  @Test func aPlantedAllocationIsFound() throws {
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
    let result = try ChildProcess.run([tool, name], within: Self.patience)
    #expect(result.status != 0)
    #expect(!result.output.contains("HostSync"))
  }
}
