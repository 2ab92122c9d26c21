// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport
import Testing

@Suite struct DocumentationTests {
  @Test func `every public symbol of the libraries is documented`()
    async throws
  {
    let folder = try ScratchFolder()
    let ended = try await ChildProcess.run(
      [
        Lab.top + "/tools/documentation", "--modules", Lab.products + "/Modules", "--output",
        folder.path + "/pages",
      ])
    #expect(ended.status == 0, "\(ended.output)\(ended.errors)")
    for page in [
      "Link/data/documentation/link/firststeps", "Link/data/documentation/link/link/audiohandle",
      "Link/data/documentation/link/link/sessionstate",
      "LinkAudio/data/documentation/linkaudio/firstchannels",
      "LinkCore/data/documentation/linkcore", "LinkCore/data/documentation/linksession/linksession",
      "LinkCore/data/documentation/linkworld/linkworld",
    ] {
      #expect(try !folder.bytes(of: "pages/\(page).json").isEmpty)
    }
  }
}
