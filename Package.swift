// swift-tools-version: 6.2
// SPDX-License-Identifier: GPL-2.0-or-later
import PackageDescription

/// The tests play days of audio and of networks in these, and crowds of browsers: optimised in debug, too.
let optimised: [SwiftSetting] = [
  .unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))
]
/// Whether another package's build looks at this: SwiftPM refuses such flags there.
let isCheckout = Context.packageDirectory.contains("/checkouts/")
let optimisedHere = isCheckout ? [] : optimised
/// What is released runs where no Swift is. lld: GNU's linker leaves Swift's constants in memory that can be written (no RELRO). now: the
/// program finds all C functions when it starts, and none on the audio thread.
let runtimeInside = LinkerSetting.unsafeFlags(
  ["-static-stdlib", "-use-ld=lld", "-Xlinker", "-z", "-Xlinker", "now"], .when(configuration: .release))
/// There the compiler looks at one file at a time in debug, and cannot follow the audio thread to the next.
let fileByFile: [SwiftSetting] = isCheckout ? [.define("APART", .when(configuration: .debug))] : []
/// SwiftPM looks for the C libraries of all targets, also of those that nobody wants, and warns of each that is missing.
func found(_ name: String) -> String? { isCheckout ? nil : name }

let package = Package(
  name: "tactus",
  products: [
    .executable(name: "tactus", targets: ["tactus"]),
    .library(name: "Link", targets: ["Link"]),
    .library(name: "LinkCore", targets: ["BeatMath", "LinkSession", "LinkWire", "LinkWorld"]),
    .library(name: "LinkAudio", targets: ["LinkAudio"]),
  ],
  targets: [
    // Who rounds needs libm, and names no module that would bring it.
    .target(
      name: "BeatMath", swiftSettings: optimisedHere, linkerSettings: [.linkedLibrary("m")]),
    .target(name: "Addresses"),
    .target(name: "Linux", dependencies: ["Addresses", "BeatMath"]),
    .target(
      name: "Handoff", swiftSettings: [.strictMemorySafety(), .treatAllWarnings(as: .error)]),
    .target(name: "Choices", dependencies: ["BeatMath"], swiftSettings: optimised),
    .target(name: "HostSync", dependencies: ["BeatMath", "Choices"], swiftSettings: optimised),
    .target(
      name: "LinkAudioPath", dependencies: ["BeatMath"], swiftSettings: optimisedHere + fileByFile),
    // A channel between an audio thread and the network.
    .target(
      name: "AudioLanes", dependencies: ["Handoff", "LinkAudioPath"], swiftSettings: optimisedHere),
    .systemLibrary(name: "CSndfile", pkgConfig: found("sndfile"), providers: [.apt(["libsndfile1-dev"])]),
    .target(name: "ClickSounds", dependencies: ["CSndfile", "Choices", "HostSync"]),
    // Where the review of every C call on the audio thread happens: Sources/CJACK/shim.h.
    .systemLibrary(name: "CJACK", pkgConfig: found("jack"), providers: [.apt(["libjack-jackd2-dev"])]),
    .target(
      name: "JACKHost",
      dependencies: [
        "AudioLanes", "BeatMath", "CJACK", "Choices", "Handoff", "HostSync", "LinkAudioPath", "Linux",
      ]),
    .target(name: "LinkWire", dependencies: ["Addresses", "BeatMath"], swiftSettings: optimisedHere),
    .target(name: "LinkSession", dependencies: ["BeatMath", "LinkWire"], swiftSettings: optimisedHere),
    .target(
      name: "LinkAudioSession", dependencies: ["Addresses", "BeatMath", "LinkWire"],
      swiftSettings: optimisedHere),
    .target(
      name: "Link",
      dependencies: ["Addresses", "BeatMath", "FarLink", "Handoff", "LinkSession", "LinkWire", "Linux"]),
    .target(
      name: "LinkAudio",
      dependencies: [
        "Addresses", "AudioLanes", "BeatMath", "Link", "LinkAudioPath", "LinkAudioSession", "LinkSession",
        "LinkWire", "Linux",
      ],
      swiftSettings: optimisedHere),
    // The wire between two rooms, and its ciphers.
    .target(name: "FarLink", dependencies: ["Addresses", "BeatMath"], swiftSettings: optimisedHere),
    .systemLibrary(name: "CSodium", pkgConfig: found("libsodium"), providers: [.apt(["libsodium-dev"])]),
    .target(name: "Sodium", dependencies: ["CSodium", "FarLink"]),
    // A virtual network and clocks around many sessions: for LinkSimulator and for the tests.
    .target(
      name: "LinkWorld", dependencies: ["BeatMath", "LinkSession", "LinkWire"],
      swiftSettings: optimisedHere),
    // A studio with a JACK server in such a world, and who listens to it.
    .target(
      name: "StudioDay", dependencies: ["BeatMath", "Choices", "HostSync", "LinkSession", "LinkWorld"],
      swiftSettings: optimised),
    .executableTarget(name: "LinkSimulator", dependencies: ["BeatMath", "LinkWorld", "StudioDay"]),
    .executableTarget(
      name: "tactus",
      dependencies: [
        "Addresses", "AudioLanes", "BeatMath", "Choices", "ClickSounds", "ControlSurface", "HostSync",
        "JACKHost", "JSON5", "Link", "LinkAudio", "LinkAudioSession", "LinkSession", "LinkWire", "Linux",
        "FarLink", "MIDIControl", "NSMClient", "OSC", "QRCode", "Sodium", "TerminalView", "Web",
      ],
      linkerSettings: isCheckout ? [] : [runtimeInside]),
    .target(name: "JSON5", swiftSettings: optimised),
    .systemLibrary(name: "CLiblo", pkgConfig: found("liblo"), providers: [.apt(["liblo-dev"])]),
    .target(name: "MIDIControl"),
    .target(
      name: "OSC", dependencies: ["Addresses", "CLiblo", "Linux"], swiftSettings: optimised),
    .target(
      name: "ControlSurface",
      dependencies: [
        "Addresses", "Arithmetic", "BeatMath", "Choices", "JSON5", "Linux", "MIDIControl", "OSC",
      ],
      swiftSettings: optimised),
    .target(name: "Arithmetic"),
    .systemLibrary(
      name: "CMicrohttpd", pkgConfig: found("libmicrohttpd"), providers: [.apt(["libmicrohttpd-dev"])]),
    // The page's files as bytes.
    .target(name: "CPage"),
    .systemLibrary(name: "CWslay", providers: [.apt(["libwslay-dev"])]),
    .target(
      name: "Web",
      dependencies: [
        "Addresses", "BeatMath", "CMicrohttpd", "CPage", "CWslay", "ControlSurface", "JSON5", "Linux", "OSC",
      ],
      exclude: ["Page"], swiftSettings: optimised),
    .systemLibrary(
      name: "CQRencode", pkgConfig: found("libqrencode"), providers: [.apt(["libqrencode-dev"])]),
    .target(name: "QRCode", dependencies: ["CQRencode"]),
    .target(name: "NSMClient", dependencies: ["BeatMath", "Linux", "OSC"]),
    .target(
      name: "TerminalView", dependencies: ["BeatMath", "Choices", "ControlSurface", "MIDIControl", "QRCode"],
      swiftSettings: optimised),
    // Writes the layouts for tablets and phones (tools/layouts).
    .executableTarget(name: "Layouts", dependencies: ["ControlSurface", "JSON5", "TerminalView"]),
    // The reference implementation, for comparison in tests only; empty without Debian's ableton-link-dev.
    .target(
      name: "LinkOracle", path: "Tests/LinkOracle",
      cxxSettings: [.define("LINK_PLATFORM_LINUX", to: "1"), .unsafeFlags(["-O2"])]),
    .testTarget(name: "TidyTests", dependencies: ["TestSupport"], swiftSettings: optimised),
    .testTarget(
      name: "TactusTests",
      dependencies: [
        "BeatMath", "Choices", "ControlSurface", "JSON5", "MIDIControl", "OSC", "TestSupport", "Web",
        "tactus",
      ],
      exclude: ["peers"]),
    .testTarget(name: "JSON5Tests", dependencies: ["JSON5", "TestSupport"]),
    .target(name: "TestSupport", path: "Tests/TestSupport", exclude: ["camera.py"]),
    .testTarget(name: "LabTests", dependencies: ["TestSupport"]),
    // JACKHost with all its ports at work and a life around it, for tools/prove-realtime.
    .executableTarget(
      name: "RealtimeStage",
      dependencies: ["AudioLanes", "BeatMath", "CJACK", "Choices", "HostSync", "JACKHost", "LinkAudioPath"],
      path: "Tests/RealtimeStage"),
    // Our Link as a program, to stand where a reference peer could.
    .executableTarget(
      name: "link-peer",
      dependencies: ["AudioLanes", "Link", "LinkAudio", "LinkAudioPath", "LinkWire", "Linux"],
      path: "Tests/LinkPeer"),
    .testTarget(name: "InteropTests", dependencies: ["TestSupport", "link-peer", "tactus"]),
    .testTarget(
      name: "ConformanceTests", dependencies: ["TestSupport", "tactus"], path: "Tests/Conformance"),
    .testTarget(name: "PageTests", dependencies: ["TestSupport", "tactus"]),
    .testTarget(name: "EnduranceTests", dependencies: ["TestSupport"]),
    .testTarget(
      name: "ClickSoundsTests",
      dependencies: ["CSndfile", "Choices", "ClickSounds", "HostSync", "TestSupport"]),
    .testTarget(name: "ArithmeticTests", dependencies: ["Arithmetic"]),
    .testTarget(name: "MIDIControlTests", dependencies: ["MIDIControl"]),
    .testTarget(name: "HandoffTests", dependencies: ["Handoff"]),
    // libltc's decoder.
    .systemLibrary(name: "CLTC", path: "Tests/CLTC"),
    .target(
      name: "TimecodeReader", dependencies: ["CLTC"], path: "Tests/TimecodeReader", swiftSettings: optimised),
    .testTarget(
      name: "HostSyncTests",
      dependencies: ["BeatMath", "Choices", "HostSync", "StudioDay", "TestSupport", "TimecodeReader"]),
    .testTarget(
      name: "LinkAudioPathTests",
      dependencies: [
        "Addresses", "BeatMath", "LinkAudioPath", "LinkAudioSession", "LinkWire", "TestSupport",
      ],
      swiftSettings: optimised),
    .testTarget(name: "StudioDayTests", dependencies: ["BeatMath", "LinkWorld", "StudioDay"]),
    .testTarget(
      name: "JACKHostTests",
      dependencies: [
        "AudioLanes", "BeatMath", "CJACK", "Choices", "Handoff", "HostSync", "JACKHost", "Linux",
        "TestSupport", "TimecodeReader",
      ]),
    .testTarget(
      name: "ControlSurfaceTests",
      dependencies: [
        "Addresses", "BeatMath", "Choices", "ControlSurface", "Linux", "MIDIControl", "OSC", "TestSupport",
      ],
      exclude: ["peers"]),
    .testTarget(name: "LinuxTests", dependencies: ["Addresses", "Linux"]),
    .testTarget(name: "OSCTests", dependencies: ["OSC"]),
    .testTarget(
      name: "LayoutsTests", dependencies: ["ControlSurface", "Layouts", "TestSupport"], exclude: ["readers"]),
    .testTarget(
      name: "NSMClientTests", dependencies: ["BeatMath", "NSMClient", "OSC", "TestSupport"],
      exclude: ["peers"]),
    .testTarget(
      name: "TerminalViewTests",
      dependencies: [
        "BeatMath", "Choices", "ControlSurface", "MIDIControl", "OSC", "QRCode", "TerminalView",
        "TestSupport",
      ]),
    .testTarget(name: "QRCodeTests", dependencies: ["QRCode"]),
    .testTarget(
      name: "WebTests",
      dependencies: [
        "Addresses", "BeatMath", "ControlSurface", "JSON5", "Linux", "OSC", "TestSupport", "Web",
      ],
      exclude: ["peers"]),
    .testTarget(name: "BeatMathTests", dependencies: ["BeatMath", "LinkOracle", "TestSupport"]),
    .testTarget(
      name: "LinkTests",
      dependencies: [
        "Addresses", "BeatMath", "FarLink", "Link", "LinkSession", "LinkWire", "Linux", "Sodium",
        "TestSupport",
      ]),
    .testTarget(
      name: "FarLinkTests", dependencies: ["Addresses", "BeatMath", "FarLink", "Sodium", "TestSupport"]),
    .testTarget(name: "SodiumTests", dependencies: ["FarLink", "Sodium", "TestSupport"]),
    .testTarget(name: "LinkAudioTests", dependencies: ["LinkAudio", "TestSupport", "link-peer"]),
    .testTarget(name: "LinkWireTests", dependencies: ["BeatMath", "LinkWire", "TestSupport"]),
    .testTarget(
      name: "LinkAudioSessionTests",
      dependencies: ["Addresses", "BeatMath", "LinkAudioSession", "LinkWire", "TestSupport"],
      swiftSettings: optimised),
    .testTarget(
      name: "LinkSessionTests",
      dependencies: ["BeatMath", "LinkSession", "LinkWire", "LinkWorld", "TestSupport"]),
  ],
  swiftLanguageModes: [.v6],
  cLanguageStandard: .gnu2x,
  cxxLanguageStandard: .cxx17
)

/// Whole modules, in debug, too: only so the compiler follows what the audio thread calls from file to file, unmarked; and a
/// build from nothing takes a quarter less of the processors. Not what other packages use: their builds would remark on it.
let asAWhole = SwiftSetting.unsafeFlags([
  "-disable-batch-mode", "-whole-module-optimization", "-num-threads", "2",
])
/// Nobody waits for the interface of tests, so it is not made ahead by a second reading of them; of what helps a debugger, they keep
/// the lines.
let asTests = SwiftSetting.unsafeFlags(["-no-emit-module-separately-wmo", "-gline-tables-only"])
let forOthers: Set = [
  "Addresses", "BeatMath", "FarLink", "Handoff", "Link", "LinkAudioSession", "LinkOracle", "LinkSession",
  "LinkWire", "Linux",
]
for target in package.targets where !isCheckout && target.type != .system && !forOthers.contains(target.name)
{
  target.swiftSettings = (target.swiftSettings ?? []) + [asAWhole]
  if target.type == .test { target.swiftSettings?.append(asTests) }
}
