// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport
import Testing

/// A new port needs a case of `Port`, its names in patchbays, and a line that renders it. The compiler gets
/// the sources with these lines added, and must not require more.
struct NewPortTests {
  private static let script = """
    cd "$1" && cp -r "$2/Sources/Cycle/TactusChoices" "$2/Sources/Cycle/HostSync" "$2/Sources/Cycle/JACKHost" .
    change() { sed -i "s/$2/$3/" "$1" && grep -q "$4" "$1"; }
    change TactusChoices/Port.swift 'pulse, run, control$' '&, lamp' 'control, lamp'
    change TactusChoices/Port.swift 'InlineArray<7' 'InlineArray<8' '<8'
    change TactusChoices/Port.swift '.control, .jack: nil' '.lamp, &' '.lamp, .control'
    change HostSync/Outputs/StandardOutputs.swift '^    run.render(into: outputs\\[.run\\].*' \
      '&\\n    run.render(into: outputs[.lamp], \\&present, present.window(delayedBy: now.delay(of: .lamp)))' 'outputs\\[.lamp\\]'
    change JACKHost/Ports.swift '^    case .control: ("' '    case .lamp: ("lamp", "Lamp", "gates", .controlVoltage)\\n&' '"Lamp"'
    change JACKHost/Ports.swift '.pulse, .run: true' '.lamp, &' '.lamp, .pulse'
    compile() {
      swiftc -swift-version 6 -parse-as-library -wmo -package-name "$package" -I . -I "$modules" -I "$jack" -module-name "$@" \\
        $(find "$1" -name '*.swift')
    }
    jack=$2/Sources/C/CTactusJACK modules=$3/Modules package=$4
    for module in TactusChoices HostSync; do
      compile "$module" -emit-module -emit-module-path "$module.swiftmodule"
    done
    compile JACKHost -typecheck
    """

  @Test func `a new port needs its case, its patchbay names and its rendering`() async throws {
    let folder = try ScratchFolder()
    // SwiftPM names a package after its folder.
    let package = try #require(Lab.top.split(separator: "/").last).lowercased()
    let done = try await ChildProcess.run(
      ["sh", "-ec", Self.script, "sh", folder.path, Lab.top, Lab.products, package], within: .seconds(900))
    #expect(done.status == 0, "\(done.errors)")
  }
}
