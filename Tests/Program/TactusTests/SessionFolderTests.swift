// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusJACK
import TactusTestSupport
import Testing

@testable import TactusApp

@Suite("A session's folder")
struct SessionFolderTests {
  private func inScratch(_ body: (SessionFolder) throws -> Void) throws {
    let scratch = try ScratchFolder()
    try withExtendedLifetime(scratch) { try body(SessionFolder(path: scratch.path + "/project")) }
  }

  @Test
  func `a session's configuration and connections are read as written`() throws {
    try inScratch { folder in
      #expect(folder.isNew)
      #expect(try folder.readConnections() == [])
      var configuration = Configuration()
      configuration.tempo = 97.25
      configuration.choices.click.isOn = true
      try folder.write(configuration)
      #expect(!folder.isNew)
      #expect(try Startup([], places: folder.places).configuration == configuration)
      let connections: Set<Connection> = [
        Connection(port: .click1, other: "system:playback_1"),
        Connection(port: .click1, other: "a b:\"c\" \\ 'd'"),
        Connection(port: .control, other: "a2j:Müllers Keys [20] (capture): Keys 1"),
        Connection(port: "send_Vocals", other: "ardour:Vocals/audio_out 1"),
        Connection(port: "Studio_Drums_l", other: "ardour:Drums/audio_in 1"),
      ]
      try folder.write(connections)
      #expect(try folder.readConnections() == connections)
    }
  }

  @Test
  func `a session keeps connections of own outputs while the outputs exist`() throws {
    try inScratch { folder in
      let cable = Connection(port: "drums", other: "system:midi_playback_1")
      try folder.write([cable])
      #expect(try folder.readConnections(["drums"]) == [cable])
      #expect(throws: UserError.self) { try folder.readConnections() }
    }
  }

  @Test(arguments: [
    ("[]", "1: holds a list instead of"), ("{\n clack: [] }", "2: tactus has no port \"clack\""),
    ("{ clock: \"a:b\" }", "1: \"clock\" takes a list of ports"),
    ("{ clock: [1] }", "1: \"clock\" takes names"),
    ("{ clock: [\"nobody\"] }", "1: \"clock\" takes names"),
    ("{ clock: [\"a:\\u0007b\"] }", "1: \"clock\" takes"),
    ("{ clock: [", "1: "),
  ])
  func `a session's wrong connections are refused with file, line and reason`(text: String, fault: String)
    throws
  {
    try inScratch { folder in
      try WholeFile.write(text, to: folder.connections)
      #expect { try folder.readConnections() } throws: { error in
        (error as? UserError)?.text.hasPrefix(folder.connections + ":" + fault) == true
      }
    }
  }
}
