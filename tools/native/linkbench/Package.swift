// swift-tools-version: 6.2
// SPDX-License-Identifier: GPL-2.0-or-later
import PackageDescription

// A program outside of the main package that compares the product Link with the reference library.
let package = Package(
  name: "LinkBench",
  dependencies: [.package(name: "tactus", path: "../../..")],
  targets: [
    .target(name: "Reference", cxxSettings: [.define("LINK_PLATFORM_LINUX", to: "1")]),
    .executableTarget(
      name: "LinkBench", dependencies: ["Reference", .product(name: "Link", package: "tactus")]),
  ],
  swiftLanguageModes: [.v6],
  cxxLanguageStandard: .cxx17
)
