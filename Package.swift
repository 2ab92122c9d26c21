// swift-tools-version: 6.2
// SPDX-License-Identifier: GPL-2.0-or-later
import PackageDescription

/// The compiler follows the audio thread from file to file only if it compiles a module as a whole, as it
/// always does in release. Other packages may not use such flags in a library, so the rooms of the libraries
/// do without them in debug.
let wholeInDebug = SwiftSetting.unsafeFlags(
  [
    "-O", "-disable-batch-mode", "-whole-module-optimization", "-no-emit-module-separately-wmo",
    "-num-threads", "2",
  ],
  .when(configuration: .debug))

/// The folders of `Sources`. A module uses only modules of its own room and of the rooms above it in
/// docs/architecture.md.
enum Room: String {
  case link = "Link"
  case linkAudio = "LinkAudio"
  case cycle = "Cycle"
  case control = "Control"
  case program = "Program"
  case simulation = "Simulation"
  /// Only in `Tests`: the rules of style, the lab and the endurance of the program.
  case workshop = "Workshop"

  func module(_ name: String, uses: [Target.Dependency] = [], _ settings: [SwiftSetting] = []) -> Target {
    .target(
      name: name, dependencies: uses, path: "Sources/\(rawValue)/\(name)",
      swiftSettings: settings + (self == .cycle ? [wholeInDebug] : []))
  }

  func program(_ name: String, uses: [Target.Dependency], linker: [LinkerSetting] = []) -> Target {
    .executableTarget(
      name: name, dependencies: uses, path: "Sources/\(rawValue)/\(name)", linkerSettings: linker)
  }
}

/// A C library, found by the system's own paths; its module map says what to link.
func library(_ name: String, _ debianPackage: String, path: String? = nil) -> Target {
  .systemLibrary(name: name, path: path ?? "Sources/C/\(name)", providers: [.apt([debianPackage])])
}

/// Tests and their programs are compiled without optimisation: the modules that they test have it (tools/test
/// builds with `-c release`). Their interface is not made ahead, and of what helps a debugger they keep the
/// lines. No test depends on the program `tactus`, whose linker flags it would get: a build of all tests
/// builds all programs, too.
let fastToBuild: [SwiftSetting] = [
  .unsafeFlags(["-Onone", "-no-emit-module-separately-wmo", "-gline-tables-only"])
]

extension Room {
  /// - Parameter computesLong: the tests themselves compute for long, so they are optimised.
  func tests(
    _ name: String, of uses: [Target.Dependency], exclude: [String] = [], computesLong: Bool = false
  ) -> Target {
    .testTarget(
      name: name, dependencies: uses + ["TactusTestSupport"], path: "Tests/\(rawValue)/\(name)",
      exclude: exclude, swiftSettings: computesLong ? [] : fastToBuild)
  }
}

/// The released program runs where no Swift is. lld: GNU's linker leaves Swift's constants in memory that can
/// be written (no RELRO). now: the program finds all C functions when it starts, and none on the audio
/// thread.
let runtimeInside = LinkerSetting.unsafeFlags(
  ["-static-stdlib", "-use-ld=lld", "-Xlinker", "-z", "-Xlinker", "now"], .when(configuration: .release))

let package = Package(
  name: "tactus",
  products: [
    .executable(name: "tactus", targets: ["tactus"]),
    .library(name: "Link", targets: ["Link"]),
    .library(name: "LinkCore", targets: ["LinkCore"]),
    .library(name: "LinkAudio", targets: ["LinkAudio"]),
  ],
  targets: [
    // Link: the protocol and the library. Nothing here knows of JACK.
    .target(name: "LinkBeatMath", path: "Sources/Link/LinkBeatMath", linkerSettings: [.linkedLibrary("m")]),
    Room.link.module("LinkAddresses", uses: ["LinkBeatMath"]),
    Room.link.module("LinkSystem", uses: ["LinkAddresses", "LinkBeatMath"]),
    Room.link.module("LinkHandoff", [.strictMemorySafety(), .treatAllWarnings(as: .error)]),
    Room.link.module("LinkWire", uses: ["LinkAddresses", "LinkBeatMath"]),
    Room.link.module("LinkSession", uses: ["LinkBeatMath", "LinkWire"]),
    Room.link.module("FarLink", uses: ["LinkAddresses", "LinkBeatMath"]),
    Room.link.module("LinkSodium", uses: ["CTactusSodium", "FarLink"]),
    Room.link.module(
      "Link",
      uses: [
        "LinkAddresses", "LinkBeatMath", "FarLink", "LinkHandoff", "LinkSession", "LinkWire", "LinkSystem",
      ]),

    // LinkAudio: channels of sound between peers.
    // APART: in debug the compiler cannot follow the audio thread to another file of this module.
    Room.linkAudio.module(
      "LinkAudioPath", uses: ["LinkBeatMath"], [.define("APART", .when(configuration: .debug))]),
    Room.linkAudio.module("LinkAudioSession", uses: ["LinkAddresses", "LinkBeatMath", "LinkWire"]),
    Room.linkAudio.module("LinkAudioLanes", uses: ["LinkHandoff", "LinkAudioPath"]),
    Room.linkAudio.module(
      "LinkAudio",
      uses: [
        "LinkAddresses", "LinkAudioLanes", "LinkBeatMath", "Link", "LinkAudioPath", "LinkAudioSession",
        "LinkSession",
        "LinkWire", "LinkSystem",
      ]),

    // Cycle: JACK's process callback and all that is heard.
    Room.cycle.module("TactusChoices", uses: ["LinkBeatMath"]),
    Room.cycle.module("TactusSync", uses: ["LinkBeatMath", "TactusChoices"]),
    Room.cycle.module("TactusClickSounds", uses: ["CTactusSndfile", "TactusChoices", "TactusSync"]),
    Room.cycle.module(
      "TactusJACK",
      uses: [
        "LinkAudioLanes", "LinkBeatMath", "CTactusJACK", "TactusChoices", "LinkHandoff", "TactusSync",
        "LinkAudioPath",
        "LinkSystem",
      ]),

    // Control: OSC, MIDI, keys and the page; one table of commands behind them.
    Room.control.module("TactusArithmetic"),
    Room.control.module("TactusJSON5"),
    Room.control.module("TactusMIDI"),
    Room.control.module("TactusOSC", uses: ["LinkAddresses", "CTactusLiblo", "LinkSystem"]),
    Room.control.module(
      "TactusSurface",
      uses: [
        "LinkAddresses", "TactusArithmetic", "LinkBeatMath", "TactusChoices", "TactusJSON5", "LinkSystem",
        "TactusMIDI", "TactusOSC",
      ]),
    .target(
      name: "TactusWeb",
      dependencies: [
        "LinkAddresses", "LinkBeatMath", "CTactusMicrohttpd", "CTactusPage", "CTactusWslay", "TactusSurface",
        "TactusJSON5", "LinkSystem", "TactusOSC",
      ],
      path: "Sources/Control/TactusWeb", exclude: ["Page"]),
    Room.control.module("TactusNSM", uses: ["LinkBeatMath", "LinkSystem", "TactusOSC"]),

    // Program: tactus itself.
    Room.program.module("TactusQRCode", uses: ["CTactusQRencode"]),
    Room.program.module(
      "TactusTerminal",
      uses: ["LinkBeatMath", "TactusChoices", "TactusSurface", "TactusMIDI", "TactusQRCode"]),
    Room.program.module(
      "TactusApp",
      uses: [
        "LinkAddresses", "LinkAudioLanes", "LinkBeatMath", "TactusChoices", "TactusClickSounds",
        "TactusSurface",
        "TactusSync",
        "TactusJACK", "TactusJSON5", "Link", "LinkAudio", "LinkAudioSession", "LinkHandoff", "LinkSession",
        "LinkWire", "LinkSystem", "FarLink", "TactusMIDI", "TactusNSM", "TactusOSC", "TactusQRCode",
        "LinkSodium", "TactusTerminal", "TactusWeb",
      ]),
    Room.program.program("tactus", uses: ["TactusApp"], linker: [runtimeInside]),

    // Simulation: networks, clocks and studios in no time at all.
    Room.simulation.module("LinkWorld", uses: ["LinkBeatMath", "LinkSession", "LinkWire"]),
    Room.simulation.module("LinkCore", uses: ["LinkBeatMath", "LinkSession", "LinkWire", "LinkWorld"]),
    Room.simulation.module(
      "TactusStudioDay", uses: ["LinkBeatMath", "TactusChoices", "TactusSync", "LinkSession", "LinkWorld"]),
    Room.simulation.program("LinkSimulator", uses: ["LinkBeatMath", "LinkWorld", "TactusStudioDay"]),

    // C: other people's libraries. The page's files are bytes in C, too.
    library("CTactusJACK", "libjack-jackd2-dev"),
    library("CTactusLiblo", "liblo-dev"),
    library("CTactusMicrohttpd", "libmicrohttpd-dev"),
    library("CTactusQRencode", "libqrencode-dev"),
    library("CTactusSndfile", "libsndfile1-dev"),
    library("CTactusSodium", "libsodium-dev"),
    library("CTactusWslay", "libwslay-dev"),
    .target(name: "CTactusPage", path: "Sources/C/CTactusPage"),

    // For maintainers and tests only. Writes the layouts for tablets and phones (tools/layouts).
    .executableTarget(
      name: "TactusLayouts", dependencies: ["TactusSurface", "TactusJSON5", "TactusTerminal"],
      path: "tools/layouts.d/TactusLayouts"),
    // The reference implementation, for comparison; empty without Debian's ableton-link-dev.
    .target(
      name: "LinkOracle", path: "Tests/Support/LinkOracle",
      cxxSettings: [.define("LINK_PLATFORM_LINUX", to: "1"), .unsafeFlags(["-O2"])]),
    .target(
      name: "TactusTestSupport", path: "Tests/Support/TactusTestSupport", exclude: ["camera.py"],
      swiftSettings: fastToBuild),
    // libltc's decoder.
    library("CTactusLTC", "libltc-dev", path: "Tests/Support/CTactusLTC"),
    .target(name: "TimecodeReader", dependencies: ["CTactusLTC"], path: "Tests/Support/TimecodeReader"),
    // JACKHost with all its ports at work and a life around it, for tools/prove-realtime.
    .executableTarget(
      name: "RealtimeStage",
      dependencies: [
        "LinkAudioLanes", "LinkBeatMath", "CTactusJACK", "TactusChoices", "TactusSync", "TactusJACK",
        "LinkAudioPath",
      ],
      path: "Tests/Support/RealtimeStage"),
    // Our Link as a program, to stand where a reference peer could.
    .executableTarget(
      name: "link-peer",
      dependencies: [
        "LinkAudioLanes", "LinkBeatMath", "Link", "LinkAudio", "LinkAudioPath", "LinkWire", "LinkSystem",
      ],
      path: "Tests/Support/LinkPeer"),

    Room.link.tests(
      "LinkCoreTests",
      of: [
        "LinkBeatMath", "FarLink", "LinkAddresses", "LinkCore", "LinkHandoff", "LinkOracle", "LinkSession",
        "LinkSodium", "LinkSystem", "LinkWire", "LinkWorld",
      ]),
    Room.link.tests(
      "LinkTests",
      of: [
        "LinkBeatMath", "FarLink", "Link", "LinkAddresses", "LinkSession", "LinkSodium", "LinkSystem",
        "LinkWire",
      ]),
    Room.linkAudio.tests(
      "LinkAudioCoreTests",
      of: ["LinkBeatMath", "LinkAddresses", "LinkAudioPath", "LinkAudioSession", "LinkWire"],
      computesLong: true),
    Room.linkAudio.tests(
      "LinkAudioTests",
      of: [
        "LinkAudioLanes", "LinkBeatMath", "Link", "LinkAudio", "LinkAudioPath", "LinkAudioSession",
        "LinkOracle",
        "link-peer",
      ]),
    Room.cycle.tests(
      "CycleTests",
      of: [
        "LinkBeatMath", "CTactusSndfile", "TactusClickSounds", "TactusSync", "LinkWorld", "TactusStudioDay",
        "TactusChoices",
        "TimecodeReader",
      ]),
    Room.cycle.tests(
      "JACKHostTests",
      of: [
        "LinkAudioLanes", "LinkBeatMath", "CTactusJACK", "TactusSync", "TactusJACK", "LinkHandoff",
        "LinkSystem",
        "TactusChoices", "TimecodeReader",
      ]),
    Room.control.tests(
      "ControlTests",
      of: [
        "LinkBeatMath", "TactusSurface", "LinkAddresses", "LinkSystem", "TactusMIDI", "TactusNSM",
        "TactusArithmetic", "TactusChoices", "TactusJSON5", "TactusOSC", "TactusWeb",
      ], exclude: ["TactusSurface/peers", "TactusNSM/peers", "TactusWeb/peers"]),
    Room.program.tests(
      "ViewTests",
      of: [
        "LinkBeatMath", "TactusSurface", "TactusMIDI", "TactusChoices", "TactusLayouts", "TactusOSC",
        "TactusQRCode", "TactusTerminal",
      ], exclude: ["TactusLayouts/readers"]),
    Room.program.tests(
      "TactusTests",
      of: [
        "LinkBeatMath", "TactusSurface", "TactusMIDI", "TactusApp", "TactusChoices", "TactusJSON5",
        "TactusOSC",
        "TactusWeb",
      ], exclude: ["peers"]),
    Room.program.tests("PageTests", of: []),
    // The program beside others, and Ableton's test plan for apps with Link.
    Room.program.tests("InteropTests", of: []),
    Room.workshop.tests("WorkshopTests", of: [], computesLong: true),
  ],
  swiftLanguageModes: [.v6],
  cLanguageStandard: .gnu2x,
  cxxLanguageStandard: .cxx17
)
