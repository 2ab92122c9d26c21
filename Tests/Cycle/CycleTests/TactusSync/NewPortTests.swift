// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport
import Testing

/// A new port needs a case of `Port`, its names in patchbays and in the table of commands, and a line that
/// renders it. A new kind of output that users can add needs changes in four files: its cases, its renderer,
/// the rack that plays it, and its rows in the command table. The compiler gets the sources with these lines
/// added, and must accept them without further changes.
struct NewPortTests {
  private static let script = """
    cd "$1" && cp -r "$2/Sources/Cycle/TactusChoices" "$2/Sources/Cycle/TactusSync" "$2/Sources/Cycle/TactusJACK" \\
      "$2/Sources/Control/TactusSurface" .
    change() { sed -i "s/$2/$3/" "$1" && grep -q "$4" "$1"; }
    change TactusChoices/Port.swift 'pulse, run, control$' '&, lamp' 'control, lamp'
    change TactusChoices/Port.swift 'InlineArray<7' 'InlineArray<8' '<8'
    change TactusChoices/Port.swift '.control, .jack: nil' '.lamp, &' '.lamp, .control'
    change TactusSync/Outputs/StandardOutputs.swift '^    run.render(into: outputs\\[.run\\].*' \
      '&\\n    run.render(into: outputs[.lamp], \\&present, present.window(delayedBy: now.delay(of: .lamp)))' 'outputs\\[.lamp\\]'
    change TactusJACK/Ports.swift '^    case .control: ("' '    case .lamp: ("lamp", "Lamp", "gates", .controlVoltage)\\n&' '"Lamp"'
    change TactusJACK/Ports.swift '.pulse, .run: true' '.lamp, &' '.lamp, .pulse'
    change TactusSurface/Commands/Table+Host.swift '.pulse, .run, .control: (' '.lamp, &' '.lamp, .pulse'
    kind=TactusChoices/Output.swift
    change $kind '^  case mtc$' '&\\n  case lamp' '^  case lamp$'
    change $kind '.pulse, .run, .reset: .gates' '.lamp, &' 'case .lamp, '
    change $kind '.pulse, .run, .reset, .click: nil' '.lamp, &' '.lamp, .pulse, .run, .reset, .click'
    change $kind '^  case mtc(TimecodeSettings)$' '&\\n  case lamp(GateSettings)' '^  case lamp(G'
    change $kind '^    case .mtc: self = .*' '&\\n    case .lamp: self = .lamp(GateSettings())' 'self = .lamp'
    change $kind '^      case .mtc: .mtc$' '&\\n      case .lamp: .lamp' 'case .lamp: .lamp'
    change $kind '.reset(let gate): gate$' '.lamp(let gate), &' '.lamp(let gate)'
    change $kind '^      case .reset: self = .*' '&\\n      case .lamp: self = .lamp(newValue)' 'lamp(newValue)'
    change $kind 'case .clock, .pulse, .run, .reset, .click: ' 'case .lamp, .clock, .pulse, .run, .reset, .click: ' 'lamp, .clock'
    sed 's/RunGate/Lamp/' TactusSync/Outputs/Gates.swift | sed -n '/^import/p; /^struct Lamp/,/^}/p' > TactusSync/Outputs/Lamp.swift
    rack=TactusSync/Outputs/OutputRack.swift
    change $rack '^    case mtc(MTC)$' '&\\n    case lamp(Lamp)' 'lamp(Lamp)'
    change $rack '^    case .mtc(let settings):$' '    case .lamp(let gate):\\
      var lamp = if case .lamp(let lamp) = places[place].renderer { lamp } else { Lamp() }\\
      lamp.render(into: buffer, \\&now, window, gate)\\
      places[place].renderer = .lamp(lamp)\\
      return Rest(due: lamp.due, value: lamp.value(gate))\\
    &' '.lamp(lamp)'
    change TactusSurface/Commands/OutputChoice.swift '^    case .run: .*' '&\\n    case .lamp: [offset] + gates(.level)' '.lamp'
    compile() {
      swiftc -swift-version 6 -parse-as-library -wmo -package-name "$package" -I . -I "$modules" -I "$c/CTactusJACK" -I "$c/CTactusLiblo" -module-name "$@" \\
        $(find "$1" -name '*.swift')
    }
    c=$2/Sources/C modules=$3/Modules package=$4
    for module in TactusChoices TactusSync; do
      compile "$module" -emit-module -emit-module-path "$module.swiftmodule"
    done
    for module in TactusJACK TactusSurface; do compile "$module" -typecheck; done
    """

  @Test func `a new port or kind of output needs only the lines that this test adds`() async throws {
    let folder = try ScratchFolder()
    // SwiftPM names a package after its folder.
    let package = try #require(Lab.top.split(separator: "/").last).lowercased()
    let done = try await ChildProcess.run(
      ["sh", "-ec", Self.script, "sh", folder.path, Lab.top, Lab.products, package], within: .seconds(900))
    #expect(done.status == 0, "\(done.errors)")
  }
}
