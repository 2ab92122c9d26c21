// swift-tools-version: 6.2
// SPDX-License-Identifier: GPL-2.0-or-later
import PackageDescription

let package = Package(
  name: "tactus",
  products: [
    .library(name: "BeatMath", targets: ["BeatMath"])
  ],
  targets: [
    .target(name: "BeatMath"),
    // The reference implementation, for comparison in tests only; empty without Debian's ableton-link-dev.
    .target(
      name: "LinkOracle", path: "Tests/LinkOracle",
      cxxSettings: [.define("LINK_PLATFORM_LINUX", to: "1")]),
    .testTarget(name: "BeatMathTests", dependencies: ["BeatMath", "LinkOracle"]),
  ],
  swiftLanguageModes: [.v6],
  cxxLanguageStandard: .cxx17
)
