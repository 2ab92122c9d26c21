// swift-tools-version: 6.2
// SPDX-License-Identifier: GPL-2.0-or-later
import PackageDescription

/// Module names that other packages use, too. A build may have only one module of each name in all its
/// packages.
let commonNames = [
  "Addresses", "Arithmetic", "AudioLanes", "BeatMath", "CLiblo", "CMicrohttpd", "CPage", "CQRencode",
  "CSndfile", "CSodium", "CWslay", "Choices", "ClickSounds", "ControlSurface", "Handoff", "HostSync",
  "JACKHost", "JSON5", "Layouts", "Linux", "MIDIControl", "NSMClient", "OSC", "QRCode", "Sodium",
  "StudioDay", "TerminalView", "TestSupport", "Web",
]

/// A foreign package that depends on Link by address and version. OutsidePackageTests builds this package.
let package = Package(
  name: "outside",
  dependencies: [.package(url: Context.environment["TACTUS_URL"] ?? "unset", .upToNextMinor(from: "0.2.0"))],
  targets: [
    .systemLibrary(name: "CALSA"),
    .systemLibrary(name: "CJACK", path: "Sources/names/CJACK"),
    .executableTarget(name: "metronome", dependencies: ["CALSA", .product(name: "Link", package: "tactus")]),
    .executableTarget(
      name: "follow",
      dependencies: [.product(name: "Link", package: "tactus"), "CJACK"]
        + commonNames.map { .target(name: $0) }),
    .executableTarget(name: "clicks", dependencies: [.product(name: "Link", package: "tactus")]),
    .executableTarget(name: "send", dependencies: [.product(name: "LinkAudio", package: "tactus")]),
    .executableTarget(name: "rehearse", dependencies: [.product(name: "LinkCore", package: "tactus")]),
  ] + commonNames.map { .target(name: $0, path: "Sources/names/\($0)") }
)
