// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TestSupport
import Testing

@Suite struct DocumentationTests {
  private static let modules: String = {
    var path = [UInt8](repeating: 0, count: 4096)
    let size = readlink("/proc/self/exe", &path, path.count)
    let program = String(decoding: path[..<max(0, size)], as: UTF8.self)
    return program.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
      + "/Modules"
  }()

  @Test func `every public symbol of the libraries is documented`()
    async throws
  {
    let folder = try ScratchFolder()
    let ended = try await ChildProcess.run(
      [Lab.top + "/tools/documentation", "--modules", Self.modules, "--output", folder.path + "/pages"])
    #expect(ended.status == 0, "\(ended.output)\(ended.errors)")
    for page in [
      "Link/data/documentation/link/firststeps", "Link/data/documentation/link/audiolink",
      "Link/data/documentation/beatmath/sessionstate", "LinkAudio/data/documentation/linkaudio/firstchannels",
      "LinkCore/data/documentation/linkcore", "LinkCore/data/documentation/linksession/linksession",
      "LinkCore/data/documentation/linkworld/linkworld",
    ] {
      #expect(try !folder.bytes(of: "pages/\(page).json").isEmpty)
    }
  }
}
