// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

/// Another package that uses Link by address and version, on a machine with a compiler and without tactus's
/// dependencies.
@Suite struct OutsidePackageTests {
  /// Makes a repository with this tree as a commit, and a version.
  private static let publish = """
    mkdir "$1/tactus" && cd "$1/tactus"
    tar -C "$2" --exclude './.build*' --exclude ./.git --exclude ./tools/.venv -c . | tar -x
    git init -q . && git add -A . && git -c user.name=n -c user.email=e commit -qm n && git tag 0.2.0
    cp -r "$2/Tests/Support/Outside" "$1/outside"
    """

  /// Hides the headers and .pc files of all dependencies.
  private static let hide = """
    cd "$1/outside" && mkdir "$1/nothing"
    for place in /usr/include/jack /usr/include/lo /usr/include/wslay /usr/include/sodium /usr/lib/*/pkgconfig /usr/share/pkgconfig; do
      [ ! -d "$place" ] || mount --bind "$1/nothing" "$place" || exit
    done
    for place in sndfile.h microhttpd.h qrencode.h sodium.h; do
      [ ! -e "/usr/include/$place" ] || mount --bind /dev/null "/usr/include/$place" || exit
    done
    """

  /// Whether the output has five beats, counted 1 to 4 in sequence, and one more line.
  private static func isInOrder(_ lines: [Substring]) -> Bool {
    guard let first = lines.first.flatMap({ Int($0.dropFirst("beat ".count)) }) else { return false }
    return (1...4).contains(first)
      && lines.dropLast().map(String.init) == (0..<5).map { "beat \((first - 1 + $0) % 4 + 1)" }
  }

  /// Whether the output shows that the receiver played a tone of 440 Hz.
  private static func isTone(_ line: String) -> Bool {
    guard let rises = line.split(separator: " ").first.flatMap({ Int($0) }) else { return false }
    return (435...445).contains(rises) && line.hasSuffix(" Hz, 1 listener, 0 dropouts\n")
  }

  private func run(_ script: String, _ arguments: String..., in folder: ScratchFolder) async throws -> String
  {
    let ended = try await ChildProcess.run(
      ["unshare", "--mount", "sh", "-ec", script, "sh", folder.path] + arguments,
      environment: ["TACTUS_URL": "file://\(folder.path)/tactus"], within: .seconds(900))
    #expect(ended.status == 0, "\(ended.output)\(ended.errors)")
    #expect(!(ended.output + ended.errors).contains("warning"), "\(ended.output)\(ended.errors)")
    return ended.output
  }

  @Test(.enabled(if: Lab.isHere, "needs tools/lab --no-server"), arguments: ["debug", "release"])
  func `another package builds Link by version without dependencies`(
    configuration: String
  ) async throws {
    let folder = try ScratchFolder()
    _ = try await run(Self.publish, Lab.top, in: folder)
    // One job reads each module once; no index is needed.
    let build = "nice swift build --cache-path \"$1/cache\" --disable-index-store --jobs 1 -c \"$2\" 2>&1"
    _ = try await run(Self.hide + "\n" + build, configuration, in: folder)
    let programs = "cd $1/outside/.build/\(configuration); "
    let libraries = try await run(programs + "ldd follow rehearse send metronome clicks", in: folder)
    for other in ["jack", "liblo", "sndfile", "microhttpd", "wslay", "qrencode", "sodium"] {
      #expect(!libraries.contains(other), "\(other)")
    }
    // A machine that stalls for more than a beat makes the program skip to the next beat; then try again.
    var said: [Substring] = []
    for _ in 0..<3 where !Self.isInOrder(said) {
      said = try await run(programs + "./follow", in: folder).split(separator: "\n")
    }
    #expect(Self.isInOrder(said) && said.last == "480.0 BPM", "\(said)")
    #expect(
      try await run(programs + "./clicks", in: folder)
        == "23 clicks, 12 after the change, 0 frames from the beat\n")
    // On a machine that stalls, some of the tone is lost; then try again.
    var tone = ""
    for _ in 0..<3 where !Self.isTone(tone) { tone = try await run(programs + "./send", in: folder) }
    #expect(Self.isTone(tone), "\(tone)")
    #expect(try await run(programs + "./rehearse", in: folder) == "90.0 and 90.0 BPM, 1 other\n")
    // The metronome opens a card and plays to its end. How long it plays is not checked, because ALSA's null
    // card takes no time.
    #expect(try await run(programs + "./metronome null 2", in: folder).hasSuffix(" clicks\n"))
  }

  @Test(arguments: [
    ("FollowATempo", "follow/Follow.swift", ["import", "show", "beats"]),
    ("MetronomeWithALSA", "metronome/Metronome.swift", ["import", "open", "failure", "loop"]),
    ("SimulatedSession", "rehearse/Rehearse.swift", ["import", "world", "ask", "protocol"]),
  ])
  func `the code of the articles is compiled in another package`(
    article: String, program: String, marks: [String]
  )
    throws
  {
    let article = try Article(
      "Sources/Link/Link/Link.docc/\(article).md",
      compiledIn: Lab.top + "/Tests/Support/Outside/Sources/" + program,
      leavingOut: [])
    #expect(article.marks == marks)
    for mark in marks { #expect(article.isCompiled(mark), "\(mark)") }
  }
}
