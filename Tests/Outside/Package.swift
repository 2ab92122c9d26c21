// swift-tools-version: 6.2
// SPDX-License-Identifier: GPL-2.0-or-later
import PackageDescription

/// A foreign package that depends on Link by address and version: OutsidePackageTests builds it.
let package = Package(
  name: "outside",
  dependencies: [.package(url: Context.environment["TACTUS_URL"] ?? "unset", from: "0.1.0")],
  targets: [
    .systemLibrary(name: "CALSA"),
    .executableTarget(name: "metronome", dependencies: ["CALSA", .product(name: "Link", package: "tactus")]),
    .executableTarget(name: "follow", dependencies: [.product(name: "Link", package: "tactus")]),
    .executableTarget(name: "send", dependencies: [.product(name: "LinkAudio", package: "tactus")]),
    .executableTarget(name: "rehearse", dependencies: [.product(name: "LinkCore", package: "tactus")]),
  ]
)
