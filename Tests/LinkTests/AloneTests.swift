// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TestSupport
import Testing

/// The library without the rest of the house.
@Suite(.enabled(if: Lab.isHere, "needs tools/lab --no-server: it hides the headers of JACK and liblo"))
struct AloneTests {
  static let manifest = """
    // swift-tools-version: 6.2
    import PackageDescription
    let package = Package(
      name: "alone", dependencies: [.package(name: "tactus", path: "\(Lab.top)")],
      targets: [.executableTarget(name: "alone", dependencies: [.product(name: "Link", package: "tactus")])])
    """
  static let program = """
    import Link
    let link = Link(tempo: 123)
    print(link.captureAppState().tempo)
    """
  /// A file system of its own, in which there is neither a header nor a library of JACK or liblo.
  static let hideAndBuild = """
    set -e
    for hidden in /usr/include/jack /usr/include/lo; do [ ! -d $hidden ] || mount -t tmpfs none $hidden; done
    for hidden in /usr/lib/*/libjack* /usr/lib/*/liblo.*; do [ ! -f $hidden ] || mount --bind /dev/null $hidden; done
    export PKG_CONFIG_LIBDIR=/nonexistent
    swift build --quiet --package-path "$1" 2>&1
    "$1/.build/debug/alone"
    """

  @Test func aPackageElsewhereThatUsesLinkBuildsWithoutJACKAndLiblo() async throws {
    let scratch = try ScratchFolder()
    let directory = scratch.path
    try scratch.write(Self.manifest, to: "Package.swift")
    try scratch.write(Self.program, to: "Sources/main.swift")
    let done = try await ChildProcess.run(
      ["unshare", "--mount", "bash", "-c", Self.hideAndBuild, "alone", directory], within: .seconds(600))
    #expect(done.status == 0, "\(done.output) \(done.errors)")
    #expect(done.output == "123.0\n", "the build must not even warn")
    let libraries = try await ChildProcess.run(["ldd", directory + "/.build/debug/alone"])
    #expect(!libraries.output.contains("jack") && !libraries.output.contains("liblo"))
  }
}
