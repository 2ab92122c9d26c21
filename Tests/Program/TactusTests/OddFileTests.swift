// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

@testable import TactusApp

/// Tests what tactus does with a FIFO, folder, link, socket or device in the place of a small file.
@Suite("Files of odd kinds")
struct OddFileTests {
  private let folder: ScratchFolder

  init() throws { folder = try ScratchFolder() }

  private func path(_ name: String) -> String { folder.path + "/" + name }

  /// Makes a FIFO without a writer, a folder, a link to nowhere, a link to itself, a socket, or a link to a
  /// device.
  private func put(_ kind: String, at name: String) throws {
    let place = path(name)
    switch kind {
    case "pipe": #expect(mkfifo(place, 0o600) == 0)
    case "folder": #expect(mkdir(place, 0o700) == 0)
    case "nowhere": #expect(symlink("/nowhere/at/all", place) == 0)
    case "loop": #expect(symlink(place, place) == 0)
    case "socket":
      let made =
        try ChildProcess.run(
          ["python3", "-c", "import socket,sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])", place])
        as ChildProcess.Finished
      #expect(made.status == 0)
    default: #expect(symlink(kind, place) == 0)
    }
  }

  static let kinds: [(String, String)] = [
    ("pipe", "a pipe, not a file"), ("folder", "a folder, not a file"),
    ("nowhere", "a link to /nowhere/at/all, which is not there"), ("socket", "a socket, not a file"),
    ("/dev/zero", "a device, not a file"), ("/dev/tty", "a device, not a file"),
    ("loop", "Too many levels of symbolic links"),
  ]

  @Test(arguments: kinds)
  func `a pipe, folder or device as configuration is refused in one line`(
    kind: String, words: String
  ) throws {
    try put(kind, at: "config.json5")
    let expected = UserError(path("config.json5") + ": " + words)
    #expect(throws: expected) { try Startup([], places: Places(folder: folder.path)) }
    // A path on the command line may be a pipe, because a program may write into the pipe. Here no program
    // does, so the pipe counts as empty.
    let typed =
      kind == "pipe"
      ? UserError(path("config.json5") + ": this pipe ended without any text") : expected
    #expect(throws: typed) {
      try Startup(["--config", path("config.json5")], places: Places(folder: "/nowhere"))
    }
  }

  @Test(  // without devices, which a failing test could replace if run as root
    arguments: kinds.filter { !$0.0.hasPrefix("/dev/") })
  func `a pipe, folder or socket as state file is reported and never replaced`(
    kind: String, words: String
  ) throws {
    try put(kind, at: "state.json5")
    let startup = try Startup([], places: Places(folder: folder.path))
    #expect(startup.notices == [path("state.json5") + ": " + words + "; nothing is remembered"])
    let notices = Notices()
    let keeper = startup.keeper { notices.add($0) }
    var chosen = startup.configuration
    chosen.choices.syncsStartStop = true
    keeper.note(chosen, at: .zero)
    keeper.close(at: .zero)
    #expect(
      notices.all == [
        "the remembered choices can't be written: \(path("state.json5")): \(words); the file stays as it was"
      ])
    #expect(folder.names == ["state.json5"])
    var found = stat()
    #expect(lstat(path("state.json5"), &found) == 0 && found.st_mode & S_IFMT != S_IFREG)
  }

  @Test(arguments: ["", "\n", "// only words\n", "/* and */ // more"])
  func `an empty configuration or state file counts as a file without keys`(text: String) throws {
    try folder.write(text, to: "config.json5")
    try folder.write(text, to: "state.json5")
    try folder.write(text, to: "connections.json5")
    let startup = try Startup([], places: Places(folder: folder.path))
    #expect(startup.configuration == Configuration() && startup.notices == [])
    #expect(try SessionFolder(path: folder.path).readConnections().isEmpty)
  }

  @Test
  func `a configuration that became a pipe is refused at a reload`() throws {
    for typed in [[], ["--config", path("config.json5")]] {
      try folder.write("{tempo: 99}", to: "config.json5")
      var startup = try Startup(typed, places: Places(folder: folder.path))
      unlink(path("config.json5"))
      try put("pipe", at: "config.json5")
      let expected = UserError(path("config.json5") + ": a pipe, not a file")
      #expect(throws: expected) { try startup.read() }
      #expect(startup.configuration.tempo == 99)
      unlink(path("config.json5"))
    }
  }

  @Test
  func `/dev/null counts as an empty configuration`() throws {
    let startup = try Startup(["--config=/dev/null"], places: Places(folder: "/nowhere"))
    #expect(startup.configuration.tempo == 120)
  }

  @Test
  func `a pipe as --config is read to its end, and an endless one is refused`() async throws {
    let ended = try await ChildProcess.run(
      ["bash", "-c", "\"$0\" config --config <(sleep 0.2; echo '{bmp: 1}')", program])
    #expect(ended.status == 2 && ended.errors.contains(":1: unknown key \"bmp\""), "\(ended)")
    let endless = try await ChildProcess.run(
      [
        "bash", "-c", "\"$0\" config --config <(echo '{'; exec >/dev/null; exec 3>/proc/self/fd/0; sleep 60)",
        program,
      ])
    #expect(endless.status == 2, "\(endless)")
  }

  @Test(arguments: ["/proc/self/mem", "/proc/self/environ"])
  func `a kernel file that can't be read as text is refused in one line`(path: String) throws {
    do {
      _ = try Startup(["--config", path], places: Places(folder: "/nowhere"))
      Issue.record("\(path) was taken")
    } catch {
      #expect(error.text.hasPrefix(path + ":") && !error.text.contains("\n"), "\(error.text)")
    }
  }

  @Test
  func `session folders are only found beside tactus or in its git clone`()
    throws
  {
    for place in ["usr/share/tactus/sessions", "sessions", "clone/sessions", "usr/sessions"] {
      try folder.write("", to: place + "/session.sh")
    }
    func found(_ program: String) -> String? {
      SessionShelf.found(from: path(program)).map { String($0.folder.dropFirst(folder.path.count + 1)) }
    }
    #expect(found("usr/bin/tactus") == "usr/share/tactus/sessions")
    for build in [".build", ".build-tests"] {
      #expect(found("clone/\(build)/x86_64-unknown-linux-gnu/release/tactus") == "clone/sessions")
    }
    // A folder to which others can write, such as /tmp, must not decide which scripts get executed.
    #expect(found("tmp/tactus") == nil && found("clone/sub/bin/tactus") == nil && found("tactus") == nil)
  }
}
