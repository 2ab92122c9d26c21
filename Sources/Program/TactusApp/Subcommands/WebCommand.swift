// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusOSC
import TactusQRCode
import TactusSurface
import TactusTerminal
import TactusWeb

/// `tactus web`: shows the address at which a phone finds the page.
struct WebCommand: Conversing {
  static let name = "web"
  static let summary = "Show where phones find the page, with a QR code that pairs them"
  static let description = """
    Asks the tactus that runs on this machine where its page is, and shows the address, the
    code that pairs a browser with it, and both as a QR code for a phone's camera. Ends with
    status 69 if none runs, 1 if it has no page.
    """
  static let options: [Option<WebCommand>] =
    [
      Option(
        "forget", in: .other, .flag(\.forgets),
        help:
          "Unpair all browsers, and make a new code. Works without a running tactus, too."
      )
    ] + whereaboutsOptions

  var forgets = false
  var whereabouts = Whereabouts()

  func run(_ operands: [String]) throws(UserError) -> Tactus.Status {
    guard let path = SecretFile.path() else {
      throw UserError("neither XDG_STATE_HOME nor HOME says where the page's secret is")
    }
    if forgets {
      _ = try SecretFile.renew(path)
      return Console.answer("All browsers are unpaired. tactus web shows the new code.")
    }
    var running = try RunningTactus(whereabouts)
    let state = RemoteValues(try running.values()).state
    let reach = state.page.reach
    guard !reach.addresses.isEmpty else { throw UserError(Self.help(state)) }
    return Console.answer(Self.text(reach, try Self.secret(in: path), Screen.ofThisTerminal))
  }

  /// The secret of the running tactus, from this file.
  static func secret(in path: String) throws(UserError) -> Secret {
    do throws(UserError) {
      return try SecretFile.read(path)
    } catch {
      throw UserError(
        "\(error.text). tactus could not save the code in this file. It tries again every ten seconds; "
          + "until then only the view of the running tactus shows the code (o)")
    }
  }

  /// Why there is nothing to show, and what to do.
  private static func help(_ state: SurfaceState) -> String {
    switch state.page.reach {
    case .off:
      "tactus shows no page yet: tactus send web/open 1, or o in its view, opens it to this machine's networks; the option --web opens it to this machine alone"
    case .network: "the page is open, but this machine is in no network now"
    case .closed, .thisMachine:
      "the page is not open yet" + state.page.missing.map { "; \($0)" }.joined()
    case .unknown: "this tactus does not say where its page is: it is another version than this command"
    }
  }

  /// The size and the abilities of the terminal to draw on.
  struct Screen {
    var size: Size
    var isUnicode: Bool

    /// The terminal of the standard output; nil: the output goes into a file or a pipe.
    static var ofThisTerminal: Screen? {
      var found = winsize()
      guard isatty(STDOUT_FILENO) == 1, ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &found) == 0, found.ws_col > 0
      else { return nil }
      return Screen(
        size: Size(columns: Int(found.ws_col), rows: Int(found.ws_row)), isUnicode: Environment.isUTF8)
    }
  }

  static func text(_ reach: PageReach, _ secret: Secret, _ screen: Screen?) -> String {
    let addresses = reach.addresses.enumerated().map { ($0.offset == 0 ? "Page  " : "      ") + $0.element }
    var lines = addresses + ["Code  \(secret.groups)"]
    if case .thisMachine(let address) = reach {
      return
        (lines + [
          "Only this machine can open it: \(TerminalView.pairingAddress(address, secret.code))",
          "tactus send web/open 1, or o in the view, opens it to the networks that this machine is on.",
        ]).joined(separator: "\n")
    }
    let address = TerminalView.pairingAddress(reach.addresses[0], secret.code)
    lines.append("Both  \(address)")
    guard let screen, let code = QRCode(address) else { return lines.joined(separator: "\n") }
    let view = TerminalView(glyphs: screen.isUnicode ? .unicode : .ascii)
    // Leave one row free for the shell's prompt.
    let room = Size(columns: screen.size.columns, rows: screen.size.rows - 1)
    if let picture = view.drawing(of: code, within: room) {
      lines = picture.lines + lines
    } else {
      let least = view.leastSize(of: code)
      lines.append(
        "The QR code needs a terminal of \(least.columns)x\(least.rows + 1); this one has \(screen.size.columns)x\(screen.size.rows)."
      )
    }
    return lines.joined(separator: "\n")
  }
}
