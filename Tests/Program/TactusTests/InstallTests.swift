// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

/// Tests tools/install with the program that is already built.
@Suite("tools/install")
struct InstallTests {
  private func install(_ options: String..., into destination: String = "") async throws
    -> ChildProcess.Finished
  {
    try await ChildProcess.run(
      [Lab.top + "/tools/install"] + options,
      environment: ["TACTUS_PROGRAM": program, "DESTDIR": destination])
  }

  private func tree(_ path: String) async throws -> [String] {
    try await ChildProcess.run(["find", path, "-mindepth", "1"]).output.split(separator: "\n").map(
      String.init)
  }

  @Test
  func `tools/install --uninstall removes all installed files and no others`() async throws {
    let scratch = try ScratchFolder()
    let destination = scratch.path + "/stage"
    let done = try await install("--prefix", "/usr", into: destination)
    #expect(done.status == 0 && done.output == "installed tactus 0.2.0 below \(destination)/usr\n")
    let files = try await tree(destination)
    let count = files.count { access($0 + "/.", F_OK) != 0 }
    for path in [
      "bin/tactus", "share/man/man1/tactus.1.gz", "share/man/man7/tactus-osc.7.gz",
      "share/bash-completion/completions/tactus", "share/zsh/vendor-completions/_tactus",
      "share/fish/vendor_completions.d/tactus.fish", "share/applications/tactus.desktop",
      "share/metainfo/audio.tactus.tactus.metainfo.xml", "share/icons/hicolor/scalable/apps/tactus.svg",
      "lib/systemd/user/tactus.service", "share/tactus/sessions/controllers/tactus-tablet.tosc",
    ] { #expect(files.contains("\(destination)/usr/\(path)"), "\(path)") }
    // A second install is an update, and files of other programs stay.
    #expect(try await install("--prefix=/usr", into: destination).status == 0)
    let others = ["\(destination)/usr/share/man/man1/other.1", "\(destination)/usr/share/tactus/mine"]
    #expect(try await ChildProcess.run(["touch"] + others).status == 0)
    let removed = try await install("--uninstall", "--prefix", "/usr", into: destination)
    #expect(removed.status == 0)
    #expect(
      removed.output.hasPrefix("removed tactus and its \(count) files from \(destination)/usr\n"),
      "\(removed)")
    #expect(removed.output.contains("your own files stay: ~/.config/tactus, ~/.local/state/tactus"))
    #expect(try await tree(destination).filter { !others.contains($0) && access($0 + "/.", F_OK) != 0 } == [])
    #expect(try await ChildProcess.run(["rm"] + others).status == 0)

    // In a folder that was empty, uninstalling leaves nothing.
    let fresh = scratch.path + "/fresh"
    #expect(try await install("--prefix", "/opt/tactus", into: fresh).status == 0)
    #expect(try await install("--prefix", "/opt/tactus", "--uninstall", into: fresh).status == 0)
    #expect(access(fresh + "/opt/tactus", F_OK) != 0)
    let again = try await install("--prefix", "/opt/tactus", "--uninstall", into: fresh)
    #expect(again.status == 1 && again.errors.contains("nothing of tactus is installed"))
  }

  /// Two cases: the root of the git tree is above the sources, as in an AUR clone in which makepkg unpacks
  /// the sources; or the root is the folder of the sources, and git tracks no file yet.
  @Test(arguments: ["clone", "clone/src/tactus"])
  func `tools/install also installs sessions that git does not track`(tree top: String) async throws {
    let scratch = try ScratchFolder()
    let copy = scratch.path + "/clone/src/tactus"
    let words =
      "git init -q $0/\(top) && mkdir -p $1 && cd $2 && cp -r --parents tools/install tools/lib/packages.sh "
      + "tools/package.d sessions Sources/Program/TactusApp/Tactus.swift LICENSE README.md docs $1"
    let made = try await ChildProcess.run(["sh", "-c", words, scratch.path, copy, Lab.top])
    #expect(made.status == 0, "\(made)")
    let done = try await ChildProcess.run(
      [copy + "/tools/install", "--prefix", "/usr"],
      environment: ["TACTUS_PROGRAM": program, "DESTDIR": scratch.path + "/stage"])
    #expect(done.status == 0, "\(done)")
    let files = try await tree(scratch.path + "/stage/usr/share/tactus/sessions")
    #expect(files.count { $0.hasSuffix("/start") } > 10, "\(files)")
  }

  @Test
  func `the unit, the desktop entry and the man pages pass their checkers`() async throws {
    let scratch = try ScratchFolder()
    let prefix = scratch.path + "/prefix"
    #expect(try await install("--prefix", prefix).status == 0)
    let run = try await ChildProcess.run(["\(prefix)/bin/tactus", "--version"])
    #expect(run.status == 0 && run.output.hasPrefix("tactus "))
    let readers: [(tool: String, arguments: [String])] = [
      ("systemd-analyze", ["--user", "--man=no", "verify", "\(prefix)/share/systemd/user/tactus.service"]),
      ("desktop-file-validate", ["\(prefix)/share/applications/tactus.desktop"]),
      (
        "appstreamcli", ["validate", "--no-net", "\(prefix)/share/metainfo/audio.tactus.tactus.metainfo.xml"]
      ),
      ("man", ["--warnings", "-P", "cat", "-l", "\(prefix)/share/man/man1/tactus.1.gz"]),
      ("man", ["--warnings", "-P", "cat", "-l", "\(prefix)/share/man/man7/tactus-osc.7.gz"]),
    ]
    for (tool, arguments) in readers {
      // Skip a checker that is missing here; tools/package has them all.
      guard try await ChildProcess.run(["which", tool]).status == 0 else { continue }
      let done = try await ChildProcess.run(
        [tool] + arguments, environment: ["XDG_RUNTIME_DIR": scratch.path, "LC_ALL": "C.UTF-8"])
      #expect(done.status == 0 && done.errors == "", "\(tool) \(arguments): \(done.output)\(done.errors)")
    }
  }

  @Test
  func `tools/install refuses a --prefix that is relative or contains ..`() async throws {
    for prefix in ["relative", "", "/a/../../etc"] {
      let done = try await install("--prefix=\(prefix)", into: "/nowhere")
      #expect(done.status == 1 && done.errors.hasPrefix("install: "), "\(prefix): \(done)")
    }
    #expect(try await install("--nonsense").status == 1)
    #expect(try await install("--help").output.contains("TACTUS_PROGRAM=FILE"))
  }
}
