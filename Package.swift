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
    .target(name: "BeatMath", path: "Sources/Link/BeatMath", linkerSettings: [.linkedLibrary("m")]),
    Room.link.module("LinkAddresses", uses: ["BeatMath"]),
    Room.link.module("LinkSystem", uses: ["LinkAddresses", "BeatMath"]),
    Room.link.module("LinkHandoff", [.strictMemorySafety(), .treatAllWarnings(as: .error)]),
    Room.link.module("LinkWire", uses: ["LinkAddresses", "BeatMath"]),
    Room.link.module("LinkSession", uses: ["BeatMath", "LinkWire"]),
    Room.link.module("FarLink", uses: ["LinkAddresses", "BeatMath"]),
    Room.link.module("LinkSodium", uses: ["CTactusSodium", "FarLink"]),
    Room.link.module(
      "Link",
      uses: ["LinkAddresses", "BeatMath", "FarLink", "LinkHandoff", "LinkSession", "LinkWire", "LinkSystem"]),

    // LinkAudio: channels of sound between peers.
    // APART: in debug the compiler cannot follow the audio thread to another file of this module.
    Room.linkAudio.module(
      "LinkAudioPath", uses: ["BeatMath"], [.define("APART", .when(configuration: .debug))]),
    Room.linkAudio.module("LinkAudioSession", uses: ["LinkAddresses", "BeatMath", "LinkWire"]),
    Room.linkAudio.module("AudioLanes", uses: ["LinkHandoff", "LinkAudioPath"]),
    Room.linkAudio.module(
      "LinkAudio",
      uses: [
        "LinkAddresses", "AudioLanes", "BeatMath", "Link", "LinkAudioPath", "LinkAudioSession", "LinkSession",
        "LinkWire", "LinkSystem",
      ]),

    // Cycle: JACK's process callback and all that is heard.
    Room.cycle.module("TactusChoices", uses: ["BeatMath"]),
    Room.cycle.module("HostSync", uses: ["BeatMath", "TactusChoices"]),
    Room.cycle.module("ClickSounds", uses: ["CTactusSndfile", "TactusChoices", "HostSync"]),
    Room.cycle.module(
      "JACKHost",
      uses: [
        "AudioLanes", "BeatMath", "CTactusJACK", "TactusChoices", "LinkHandoff", "HostSync", "LinkAudioPath",
        "LinkSystem",
      ]),

    // Control: OSC, MIDI, keys and the page; one table of commands behind them.
    Room.control.module("TactusArithmetic"),
    Room.control.module("TactusJSON5"),
    Room.control.module("MIDIControl"),
    Room.control.module("TactusOSC", uses: ["LinkAddresses", "CTactusLiblo", "LinkSystem"]),
    Room.control.module(
      "ControlSurface",
      uses: [
        "LinkAddresses", "TactusArithmetic", "BeatMath", "TactusChoices", "TactusJSON5", "LinkSystem",
        "MIDIControl", "TactusOSC",
      ]),
    .target(
      name: "TactusWeb",
      dependencies: [
        "LinkAddresses", "BeatMath", "CTactusMicrohttpd", "CTactusPage", "CTactusWslay", "ControlSurface",
        "TactusJSON5", "LinkSystem", "TactusOSC",
      ],
      path: "Sources/Control/TactusWeb", exclude: ["Page"]),
    Room.control.module("NSMClient", uses: ["BeatMath", "LinkSystem", "TactusOSC"]),

    // Program: tactus itself.
    Room.program.module("TactusQRCode", uses: ["CTactusQRencode"]),
    Room.program.module(
      "TerminalView", uses: ["BeatMath", "TactusChoices", "ControlSurface", "MIDIControl", "TactusQRCode"]),
    Room.program.module(
      "TactusApp",
      uses: [
        "LinkAddresses", "AudioLanes", "BeatMath", "TactusChoices", "ClickSounds", "ControlSurface",
        "HostSync",
        "JACKHost", "TactusJSON5", "Link", "LinkAudio", "LinkAudioSession", "LinkHandoff", "LinkSession",
        "LinkWire", "LinkSystem", "FarLink", "MIDIControl", "NSMClient", "TactusOSC", "TactusQRCode",
        "LinkSodium", "TerminalView", "TactusWeb",
      ]),
    Room.program.program("tactus", uses: ["TactusApp"], linker: [runtimeInside]),

    // Simulation: networks, clocks and studios in no time at all.
    Room.simulation.module("LinkWorld", uses: ["BeatMath", "LinkSession", "LinkWire"]),
    Room.simulation.module("LinkCore", uses: ["BeatMath", "LinkSession", "LinkWire", "LinkWorld"]),
    Room.simulation.module(
      "StudioDay", uses: ["BeatMath", "TactusChoices", "HostSync", "LinkSession", "LinkWorld"]),
    Room.simulation.program("LinkSimulator", uses: ["BeatMath", "LinkWorld", "StudioDay"]),

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
      name: "TactusLayouts", dependencies: ["ControlSurface", "TactusJSON5", "TerminalView"],
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
        "AudioLanes", "BeatMath", "CTactusJACK", "TactusChoices", "HostSync", "JACKHost", "LinkAudioPath",
      ],
      path: "Tests/Support/RealtimeStage"),
    // Our Link as a program, to stand where a reference peer could.
    .executableTarget(
      name: "link-peer",
      dependencies: [
        "AudioLanes", "BeatMath", "Link", "LinkAudio", "LinkAudioPath", "LinkWire", "LinkSystem",
      ],
      path: "Tests/Support/LinkPeer"),

    Room.link.tests(
      "LinkCoreTests",
      of: [
        "BeatMath", "FarLink", "LinkAddresses", "LinkHandoff", "LinkOracle", "LinkSession", "LinkSodium",
        "LinkSystem", "LinkWire", "LinkWorld",
      ]),
    Room.link.tests(
      "LinkTests",
      of: [
        "BeatMath", "FarLink", "Link", "LinkAddresses", "LinkSession", "LinkSodium", "LinkSystem", "LinkWire",
      ]),
    Room.linkAudio.tests(
      "LinkAudioCoreTests",
      of: ["BeatMath", "LinkAddresses", "LinkAudioPath", "LinkAudioSession", "LinkWire"], computesLong: true),
    Room.linkAudio.tests(
      "LinkAudioTests",
      of: [
        "AudioLanes", "BeatMath", "Link", "LinkAudio", "LinkAudioPath", "LinkAudioSession", "LinkOracle",
        "link-peer",
      ]),
    Room.cycle.tests(
      "CycleTests",
      of: [
        "BeatMath", "CTactusSndfile", "ClickSounds", "HostSync", "LinkWorld", "StudioDay", "TactusChoices",
        "TimecodeReader",
      ]),
    Room.cycle.tests(
      "JACKHostTests",
      of: [
        "AudioLanes", "BeatMath", "CTactusJACK", "HostSync", "JACKHost", "LinkHandoff", "LinkSystem",
        "TactusChoices", "TimecodeReader",
      ]),
    Room.control.tests(
      "ControlTests",
      of: [
        "BeatMath", "ControlSurface", "LinkAddresses", "LinkSystem", "MIDIControl", "NSMClient",
        "TactusArithmetic", "TactusChoices", "TactusJSON5", "TactusOSC", "TactusWeb",
      ], exclude: ["ControlSurface/peers", "NSMClient/peers", "TactusWeb/peers"]),
    Room.program.tests(
      "ViewTests",
      of: [
        "BeatMath", "ControlSurface", "MIDIControl", "TactusChoices", "TactusLayouts", "TactusOSC",
        "TactusQRCode", "TerminalView",
      ], exclude: ["TactusLayouts/readers"]),
    Room.program.tests(
      "TactusTests",
      of: [
        "BeatMath", "ControlSurface", "MIDIControl", "TactusApp", "TactusChoices", "TactusJSON5", "TactusOSC",
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
