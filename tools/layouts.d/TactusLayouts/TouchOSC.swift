// SPDX-License-Identifier: GPL-2.0-or-later
import TactusSurface

/// A layout as TouchOSC 1.5 reads it: one line of XML, version 6, in a zlib stream.
struct TouchOSC {
  /// The tablet's UDP port for values. The layout sends this number to tactus, so that the user need not type
  /// it.
  static let receivePort = 9000
  private static let groups = "state beat phase position heartbeat"

  private let layout: Layout
  private var nodes: UInt64 = 0

  static func document(_ layout: Layout) -> [UInt8] { Zlib.stored(Array(xml(layout).utf8)) }

  static func xml(_ layout: Layout) -> String {
    var writer = TouchOSC(layout: layout)
    return "<?xml version='1.0' encoding='UTF-8'?><lexml version='6'>\(writer.root())</lexml>"
  }

  private init(layout: Layout) {
    self.layout = layout
  }

  /// A script that subscribes every five seconds, so that values return by themselves after the tablet slept
  /// or tactus restarted. It also sends each proof text back, which shows that the tablet receives messages.
  static let script = """
    local last = -1e9
    function update()
      local now = getMillis()
      if now - last > 5000 then
        last = now
        sendOSC('/\(Table.root)/subscribe', \(receivePort), '\(groups)', 20)
      end
    end
    function onReceiveOSC(message)
      if message[1] == '/\(Table.root)/proof' then
        sendOSC('/\(Table.root)/proof', message[2][1].value)
      end
    end
    """

  // MARK: nodes

  private enum Property {
    case flag(Bool), whole(Int), number(Double), text(String), frame(Area)
    case color(red: Double, green: Double, blue: Double, alpha: Double)
  }

  private static let common: [String: Property] = [
    "background": .flag(true), "cornerRadius": .number(1), "grabFocus": .flag(true),
    "interactive": .flag(true),
    "locked": .flag(false), "orientation": .whole(0), "outline": .flag(true), "outlineStyle": .whole(1),
    "pointerPriority": .whole(0), "shape": .whole(1), "visible": .flag(true),
  ]

  private mutating func root() -> String {
    let bar = Layout.tabBar
    var pages = ""
    for page in layout.pages {
      var controls = ""
      for control in page.controls { controls += self.control(control) }
      pages += node(
        "GROUP", page.title, Area(x: 0, y: bar, width: layout.width, height: layout.height - bar), .text,
        [
          "interactive": .flag(false), "outline": .flag(false), "tabLabel": .text(page.title),
          "tabColorOff": .color(red: 0.2, green: 0.2, blue: 0.2, alpha: 1),
          "tabColorOn": .color(red: 0.95, green: 0.62, blue: 0.15, alpha: 1),
          "textColorOff": .color(red: 1, green: 1, blue: 1, alpha: 1),
          "textColorOn": .color(red: 0, green: 0, blue: 0, alpha: 1),
        ], [("touch", "false")], children: controls)
    }
    let whole = Area(x: 0, y: 0, width: layout.width, height: layout.height)
    let pager = node(
      "PAGER", "pages", whole, .text,
      [
        "tabLabels": .flag(true), "tabbar": .flag(true), "tabbarDoubleTap": .flag(false),
        "tabbarSize": .whole(Int(bar)), "textSizeOff": .whole(16), "textSizeOn": .whole(16),
      ], [("page", "0"), ("touch", "false")], children: pages)
    let connection =
      "\(layout.title). In TouchOSC's connections: OSC 1, UDP; host: the address of the computer that runs tactus; "
      + "send port \(Table.port); receive port \(Self.receivePort)."
    return node(
      "GROUP", layout.name, whole, .text,
      [
        "grabFocus": .flag(false), "interactive": .flag(false), "outlineStyle": .whole(0),
        "script": .text(Self.script), "metaComments": .text(connection), "metaCreator": .text("tactus"),
      ], [("touch", "false")], children: pager, isRoot: true)
  }

  private mutating func control(_ control: Control) -> String {
    let name = control.path
    let values = [("x", "0"), ("touch", "false")]
    switch control.kind {
    case .push, .toggle:
      let button: [String: Property] = [
        "buttonType": .whole(control.kind == .toggle ? 1 : 0), "press": .flag(true), "release": .flag(true),
        "valuePosition": .flag(false),
      ]
      return node(
        "BUTTON", name, control.frame, control.color, button, values, messages: Self.message(control))
        + caption(control.caption, control.frame)
    case .light:
      return node(
        "BUTTON", name, control.frame, control.color,
        [
          "buttonType": .whole(0), "press": .flag(true), "release": .flag(true),
          "valuePosition": .flag(false),
          "interactive": .flag(false),
        ], values, messages: Self.message(control))
    case .fader:
      let isLevel = control.frame.width > control.frame.height
      return node(
        "FADER", name, control.frame, control.color,
        [
          "bar": .flag(true), "barDisplay": .whole(0), "cursor": .flag(true), "cursorDisplay": .whole(0),
          "grid": .flag(true), "gridColor": .color(red: 0, green: 0, blue: 0, alpha: 0.25),
          "gridSteps": .whole(11),
          "response": .whole(0), "responseFactor": .whole(100), "orientation": .whole(isLevel ? 1 : 0),
        ], values, messages: Self.message(control)) + caption(control.caption, control.frame)
    case .ring:
      return node(
        "RADIAL", name, control.frame, control.color, ["interactive": .flag(false), "shape": .whole(2)],
        values,
        messages: Self.message(control))
    case .label(let size):
      guard !control.caption.isEmpty else {
        return label(
          name, control.frame, text: " ", size: size, isOpaque: true, messages: Self.message(control))
      }
      let (above, below) = control.frame.split
      return label(name, below, text: " ", size: size, isOpaque: true, messages: Self.message(control))
        + caption(control.caption, above)
    }
  }

  /// A label over a button, because a button can show no text itself. Touches pass through the label.
  private mutating func caption(_ text: String, _ frame: Area) -> String {
    label(
      "caption", frame, text: text, size: Int(Control.captionSize(text, frame)), isOpaque: false, messages: ""
    )
  }

  private mutating func label(
    _ name: String, _ frame: Area, text: String, size: Int, isOpaque: Bool, messages: String
  ) -> String {
    node(
      "LABEL", name, frame, .text,
      [
        "font": .whole(0), "interactive": .flag(false), "background": .flag(isOpaque),
        "outline": .flag(false),
        "textAlignH": .whole(2), "textAlignV": .whole(2), "textClip": .flag(true), "textLength": .whole(0),
        "textColor": .color(red: 1, green: 1, blue: 1, alpha: 1), "textSize": .whole(max(size, 8)),
      ], [("text", text), ("touch", "false")], messages: messages)
  }

  private mutating func node(
    _ type: String, _ name: String, _ frame: Area, _ color: Color, _ properties: [String: Property],
    _ values: [(String, String)], messages: String = "", children: String = "", isRoot: Bool = false
  ) -> String {
    nodes += 1
    var all = Self.common.merging(properties) { $1 }
    let tone = color.components
    all["name"] = .text(name)
    all["frame"] = .frame(frame)
    all["color"] = .color(red: tone.red, green: tone.green, blue: tone.blue, alpha: 1)
    var text =
      "<node ID='\(identifier)' type='\(type)'>" + (isRoot ? "<includes></includes>" : "") + "<properties>"
    for key in all.keys.sorted() { text += all[key].map { Self.property(key, $0) } ?? "" }
    text += "</properties><values>" + values.map { Self.value($0.0, $0.1) }.joined() + "</values>"
    if !messages.isEmpty { text += "<messages>\(messages)</messages>" }
    if !children.isEmpty { text += "<children>\(children)</children>" }
    return text + "</node>"
  }

  /// An identifier that is always the same for the same layout, so that a layout file changes only where the
  /// command table has changed.
  private var identifier: String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in layout.name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    func digits(_ value: UInt64, _ count: Int) -> String {
      let text = String(value, radix: 16)
      return String(repeating: "0", count: max(0, count - text.count)) + text.suffix(count)
    }
    return "\(digits(hash >> 32, 8))-\(digits(hash >> 16 & 0xffff, 4))-4000-8000-\(digits(nodes, 12))"
  }

  // MARK: XML

  private static func property(_ key: String, _ property: Property) -> String {
    let (type, value): (String, String) =
      switch property {
      case .flag(let value): ("b", value ? "1" : "0")
      case .whole(let value): ("i", "\(value)")
      case .number(let value): ("f", shortest(value))
      case .text(let value): ("s", cdata(value))
      case .frame(let frame):
        (
          "r",
          "<x>\(shortest(frame.x))</x><y>\(shortest(frame.y))</y><w>\(shortest(frame.width))</w><h>\(shortest(frame.height))</h>"
        )
      case .color(let red, let green, let blue, let alpha):
        (
          "c",
          "<r>\(shortest(red))</r><g>\(shortest(green))</g><b>\(shortest(blue))</b><a>\(shortest(alpha))</a>"
        )
      }
    return "<property type='\(type)'><key>\(cdata(key))</key><value>\(value)</value></property>"
  }

  private static func value(_ key: String, _ initial: String) -> String {
    "<value><key>\(cdata(key))</key><locked>0</locked><lockedDefaultCurrent>0</lockedDefaultCurrent>"
      + "<default>\(cdata(initial))</default><defaultPull>0</defaultPull></value>"
  }

  private static func message(_ control: Control) -> String {
    let (variable, conversion, range): (String, String, ClosedRange<Double>) =
      switch control.kind {
      case .label: ("text", "STRING", 0...1)
      case .fader(let range, let inWholeSteps): ("x", inWholeSteps ? "INTEGER" : "FLOAT", range)
      case .push, .toggle, .light, .ring: ("x", "FLOAT", 0...1)
      }
    let triggers =
      control.isSent
      ? "<triggers><trigger><var>\(cdata("x"))</var><condition>ANY</condition></trigger></triggers>" : ""
    return
      "<osc><enabled>1</enabled><send>\(control.isSent ? 1 : 0)</send><receive>1</receive><feedback>0</feedback>"
      + "<noDuplicates>0</noDuplicates><connections>1000000000</connections>\(triggers)"
      + "<path>\(partial("CONSTANT", "STRING", "/\(Table.root)/\(control.path)", 0...1))</path>"
      + "<arguments>\(partial("VALUE", conversion, variable, range))</arguments></osc>"
  }

  private static func partial(
    _ type: String, _ conversion: String, _ value: String, _ range: ClosedRange<Double>
  ) -> String {
    "<partial><type>\(type)</type><conversion>\(conversion)</conversion><value>\(cdata(value))</value>"
      + "<scaleMin>\(shortest(range.lowerBound))</scaleMin><scaleMax>\(shortest(range.upperBound))</scaleMax></partial>"
  }

  private static func cdata(_ text: String) -> String { "<![CDATA[\(text)]]>" }
}

/// A zlib stream of stored blocks: every unpacker can read it, and this program needs no compressor.
enum Zlib {
  static func stored(_ bytes: [UInt8]) -> [UInt8] {
    var stream: [UInt8] = [0x78, 0x01]
    var rest = bytes[...]
    repeat {
      let block = rest.prefix(65_535)
      rest = rest.dropFirst(block.count)
      let size = UInt16(block.count)
      stream.append(rest.isEmpty ? 1 : 0)
      stream += [UInt8(size & 255), UInt8(size >> 8), UInt8(~size & 255), UInt8(~size >> 8)]
      stream += block
    } while !rest.isEmpty
    var low: UInt32 = 1
    var high: UInt32 = 0
    for byte in bytes {
      low = (low + UInt32(byte)) % 65_521
      high = (high + low) % 65_521
    }
    return stream + withUnsafeBytes(of: (high << 16 | low).bigEndian) { Array($0) }
  }
}
