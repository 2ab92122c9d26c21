// SPDX-License-Identifier: GPL-2.0-or-later
import TestSupport
import Testing

/// One more port is a case of `Port`, what patchbays show of it, and a line that renders it: the compiler is given the sources with
/// these lines added, and asks for no more.
struct NewPortTests {
  private static let script = """
    cd "$1" && cp -r "$2/Sources/Choices" "$2/Sources/HostSync" "$2/Sources/JACKHost" .
    change() { sed -i "s/$2/$3/" "$1" && grep -q "$4" "$1"; }
    change Choices/Port.swift 'pulse, run, control$' '&, lamp' 'control, lamp'
    change Choices/Port.swift 'InlineArray<7' 'InlineArray<8' '<8'
    change Choices/Port.swift '.control, .jack: nil' '.lamp, &' '.lamp, .control'
    change HostSync/Outputs/StandardOutputs.swift '^    run.render(into: outputs\\[.run\\].*' \
      '&\\n    run.render(into: outputs[.lamp], \\&present, present.window(delayedBy: now.delay(of: .lamp)))' 'outputs\\[.lamp\\]'
    change JACKHost/Ports.swift '^    case .control: ("' '    case .lamp: ("lamp", "Lamp", "gates", .controlVoltage)\\n&' '"Lamp"'
    change JACKHost/Ports.swift '.pulse, .run: true' '.lamp, &' '.lamp, .pulse'
    compile() {
      swiftc -swift-version 6 -parse-as-library -wmo -package-name "$package" -I . -I "$modules" -I "$jack" -module-name "$@" \\
        $(find "$1" -name '*.swift')
    }
    jack=$2/Sources/CJACK modules=$3/Modules package=$4
    for module in Choices HostSync; do
      compile "$module" -emit-module -emit-module-path "$module.swiftmodule"
    done
    compile JACKHost -typecheck
    """

  @Test func `one more port is its case, what patchbays show of it, and a line that renders it`() async throws
  {
    let folder = try ScratchFolder()
    let tests = CommandLine.arguments[0]
    let products = String(tests.prefix(upTo: try #require(tests.lastIndex(of: "/"))))
    // As SwiftPM names it: by its folder.
    let package = try #require(Lab.top.split(separator: "/").last).lowercased()
    let done = try await ChildProcess.run(
      ["sh", "-ec", Self.script, "sh", folder.path, Lab.top, products, package], within: .seconds(900))
    #expect(done.status == 0, "\(done.errors)")
  }
}
