// SPDX-License-Identifier: GPL-2.0-or-later

/// The table in words: for `--help-osc`, the man page and `docs/osc.md`.
extension Table {
  struct Section {
    let title: String
    let kinds: [Node.Kind]
    let note: String
  }

  static let sections = [
    Section(
      title: "Values", kinds: [.value],
      note: "Send one to set it; subscribers are told when it changes; send it without arguments to ask."),
    Section(
      title: "Triggers", kinds: [.trigger],
      note:
        "Fire without an argument, on true, an impulse or a number from 0.5 on. A release, 0, does nothing. "
        + "Those with a state are told it, so that a button lights up."),
    Section(title: "Orders", kinds: [.order], note: "Send them with their argument."),
    Section(
      title: "Read-outs", kinds: [.reading], note: "Told when they change; send one without arguments to ask."
    ),
    Section(
      title: "Feeds", kinds: [.feed],
      note: "Told at musical moments to those who subscribed the group, named in brackets."),
    Section(title: "Conversation", kinds: [.verb], note: "Said to the surface itself."),
    Section(title: "Answers", kinds: [.answer], note: "Said by the surface, to one controller."),
  ]

  /// A row, as people read it.
  struct Line {
    let address: String
    /// For a feed, which is told to those who subscribed it.
    let group: String?
    /// What it takes or tells: types, ranges, and the optional ones in brackets.
    let arguments: String
    let words: String

    fileprivate init(_ row: Node) {
      func words(_ parameter: Parameter) -> String { "\(parameter.tag): \(parameter.allowed)" }
      let isFirst = row.path == "beat/1"
      address = isFirst ? "beat/1 ... beat/\(Table.beatLights)" : row.path
      group = row.kind == .feed ? row.group.words : nil
      let taken = row.kind == .trigger ? [] : row.parameters.map(words)
      arguments = (taken + row.optional.map { "[\(words($0))]" }).joined(separator: "; ")
      self.words = isFirst ? "Lit during that beat of the bar." : row.words
    }
  }

  /// Addresses that differ in a number alone are one line: `beat/1` to `beat/16`.
  func lines(_ section: Section) -> [Line] {
    rows.filter { section.kinds.contains($0.kind) && (!$0.path.hasPrefix("beat/") || $0.path == "beat/1") }
      .map(Line.init)
  }

  /// Plain text, at most 78 columns wide.
  public var helpText: String {
    var text = """
      OSC addresses, below /\(Self.root), by UDP to port \(Self.port).
      Numbers are taken in every type that a controller may send (i h f d, T F, digits
      as text); what is told has the type in the list. Patterns (* ? [] {} //) set and
      ask values. A bundle with a time ahead, at most \(brief(Limits.horizonSeconds)) s, waits for it.

      """
    for section in Self.sections {
      text += "\n\(section.title)\n\(wrapped(section.note, indent: 2))\n"
      for line in lines(section) {
        let arguments = line.arguments.isEmpty ? "" : "  \(line.arguments)"
        text += "  \(line.address)\(line.group.map { " [\($0)]" } ?? "")\(arguments)\n"
        text += wrapped(line.words, indent: 6) + "\n"
      }
    }
    return text
  }

  /// For `docs/osc.md`.
  public var markdown: String {
    var text = ""
    for section in Self.sections {
      text +=
        "### \(section.title)\n\n\(section.note)\n\n| address | arguments | meaning |\n| --- | --- | --- |\n"
      for line in lines(section) {
        let group = line.group.map { " (\($0))" } ?? ""
        text += "| `\(line.address)`\(group) | \(line.arguments) | \(line.words) |\n"
      }
      text += "\n"
    }
    return text + "### Neighbours' addresses\n\n| address | means |\n| --- | --- |\n" + Aliases.markdown
  }

  /// The man page tactus-osc(7), in mdoc's older sister, which every `man` reads.
  public func manPage(version: String, date: String = "") -> String {
    var text = """
      .TH TACTUS-OSC 7 "\(date)" "tactus \(version.roff)" "tactus"
      .SH NAME
      tactus-osc \\- the OSC addresses of tactus
      .SH DESCRIPTION
      .BR tactus (1)
      listens for OSC messages, by default on UDP port \(Self.port) of the loopback addresses.
      All addresses below begin with
      .BR /\(Self.root)/ .
      Numbers are taken in every type that a controller may send.
      Whoever subscribes is told what changes, at the same addresses.
      There is no authentication in OSC: whoever reaches a listening address is obeyed, unless
      .B \\-\\-osc\\-allow
      says otherwise.

      """
    for section in Self.sections {
      text += ".SH \(section.title.uppercased())\n\(section.note.roff)\n"
      for line in lines(section) {
        text += ".TP\n.B \(line.address.roff)\((line.group.map { " (\($0))" } ?? "").roff)\n"
        if !line.arguments.isEmpty { text += "\(line.arguments.roff)\n.br\n" }
        text += "\(line.words.roff)\n"
      }
    }
    return text + ".SH SEE ALSO\n.BR tactus (1),\n.BR oscsend (1),\n.BR oscdump (1)\n"
  }

  private func wrapped(_ text: String, indent: Int) -> String {
    let margin = String(repeating: " ", count: indent)
    return text.wrapped(to: 78 - indent).map { margin + $0 }.joined(separator: "\n")
  }
}

extension Aliases {
  static var markdown: String {
    all.map { alias in
      let meaning =
        switch alias.meaning {
        case .row(let path): "`\(path)`" + (alias.isTold ? alias.isTaken ? ", told too" : ", told" : "")
        case .press(let path, let value): "`\(path)` \(value.words)"
        case .verb(let verb): "`\(verb.rawValue)`"
        case .ardourSurface: "`subscribe`; the port is the seventh parameter"
        }
      return "| `\(alias.address)` | \(meaning) |\n"
    }.joined()
  }
}
