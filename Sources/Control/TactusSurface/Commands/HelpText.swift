// SPDX-License-Identifier: GPL-2.0-or-later

/// The table as text: for `--help-osc`, the man page and `docs/osc.md`.
extension Table {
  struct Section {
    let title: String
    let kind: Node.Kind
    let note: String
  }

  static let sections = [
    Section(
      title: "Values", kind: .value,
      note:
        "Send an address with its arguments to set the value, or without arguments to ask for it. "
        + "Subscribers get the value when it changes."),
    Section(
      title: "Triggers", kind: .trigger,
      note:
        "Send them without an argument, or with true, an impulse, or a number of at least 0.5. A "
        + "smaller number does nothing, because a button sends 0 when it is released. Subscribers get the "
        + "state of those triggers that have one, so that a button lights up."),
    Section(title: "Orders", kind: .order, note: "Send them with their argument."),
    Section(
      title: "Read-outs", kind: .reading,
      note: "Subscribers get these values when they change. Send an address without arguments to ask for "
        + "its value."),
    Section(
      title: "Feeds", kind: .feed,
      note: "tactus sends these at musical moments to the controllers that subscribed to the group in "
        + "brackets."),
    Section(
      title: "Conversation", kind: .verb,
      note: "Send these to ask for values, to subscribe, and to see whether tactus answers."),
    Section(title: "Answers", kind: .answer, note: "tactus sends these as answers to one controller."),
  ]

  /// A row in words.
  struct Line {
    let address: String
    /// The group of a feed, to which the receivers subscribe.
    let group: String?
    /// The arguments with types and ranges; optional arguments stand in brackets.
    let arguments: String
    /// The arguments for the table of a page: limits are left out for values that only tactus sends.
    let briefArguments: String
    let words: String

    fileprivate init(_ row: Node) {
      func words(_ parameter: Parameter) -> String { "\(parameter.tag): \(parameter.allowed)" }
      let series = Table.series.first { row.path == "\($0.stem)1" }
      address = series.map { "\($0.stem)1 ... \($0.stem)\($0.count)" } ?? row.path
      group = row.kind == .feed ? row.group.words : nil
      let taken = row.kind == .trigger ? [] : row.parameters.map(words)
      let each = row.each.isEmpty ? [] : ["each " + row.each.map(words).joined(separator: ", ")]
      arguments = (taken + each + row.optional.map { "[\(words($0))]" }).joined(separator: "; ")
      let isSent = row.kind != .reading && row.kind != .feed && row.kind != .answer
      func brief(_ parameter: Parameter) -> String {
        switch parameter {
        case .text(let limit):
          return isSent ? "s: \(limit) bytes" : "s"
        case .number, .whole:
          if isSent { return words(parameter) }
          return "\(parameter.tag)" + (parameter.unit.isEmpty ? "" : ": \(parameter.unit)")
        case .fader, .beats, .flag, .word, .exact:
          return words(parameter)
        }
      }
      let briefTaken = row.kind == .trigger ? [] : row.parameters.map(brief)
      let briefEach = row.each.isEmpty ? [] : ["each " + row.each.map(brief).joined(separator: ", ")]
      briefArguments = (briefTaken + briefEach + row.optional.map { "[\(brief($0))]" }).joined(
        separator: "; ")
      self.words = series?.words ?? row.words
    }
  }

  /// Addresses that differ only in a number share one line: `beat/1` to `beat/16`.
  private static let series = [
    (stem: "beat/", count: beatLights, words: "Lit during that beat of the bar."),
    (
      stem: "set/titles/", count: titleRows,
      words:
        "The number of songs in this row, then their titles: \(titlesPerRow) songs a row, in the set "
        + "list's order."
    ),
  ]

  /// The rows of a section as lines.
  func lines(_ section: Section, withButtons: Bool = true) -> [Line] {
    rows.filter { row in
      section.kind == row.kind && (withButtons || !row.isButton)
        && !Self.series.contains { row.path.hasPrefix($0.stem) && row.path != "\($0.stem)1" }
    }
    .map(Line.init)
  }

  /// The table as plain text, at most 78 columns wide.
  public var helpText: String {
    var text = """
      OSC addresses, below /\(Self.root), by UDP to port \(Self.port).
      Send numbers in any OSC type (i h f d, T F, digits as text); tactus sends the
      type in the list. Patterns (* ? [] {} //) set values and ask for them. A bundle
      waits for its timetag, if that is at most \(brief(SurfaceLimits.horizonSeconds)) s ahead.

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

  private static let buttons = """
    A switch also has `/toggle` behind its address, as in `click/toggle`. A choice among words has `/next`, which sets the
    next value, and a trigger for each word, as in `launch/bar`; `quantum/bar` is one, too.


    """

  /// The tables of `docs/osc.md`: without the buttons of each choice, and with only the first sentence of
  /// each row's help.
  public var markdown: String {
    var text = ""
    for section in Self.sections {
      text += "### \(section.title)\n\n\(section.note)\n\n"
      if section.kind == .trigger { text += Self.buttons }
      text += "| address | arguments | meaning |\n| --- | --- | --- |\n"
      for line in lines(section, withButtons: false) {
        let group = line.group.map { " (\($0))" } ?? ""
        text += "| `\(line.address)`\(group) | \(line.briefArguments) | \(line.words.firstSentence) |\n"
      }
      text += "\n"
    }
    return text + """
      ### Addresses of klick, Ardour and jack_transport_link

      tactus understands these, too, unless you start it with `--no-osc-aliases`. Those marked *sent* are what a controller
      gets that subscribed as it would with klick or Ardour.

      | address | means |
      | --- | --- |

      """ + Aliases.markdown
  }

  /// The man page tactus-osc(7), in the older macro package `man`, which every `man` program reads.
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
      Send numbers in any OSC type.
      Subscribers get what changes, at the same addresses.
      OSC has no passwords: tactus obeys everybody on its own networks who reaches a listening address, unless
      .B \\-\\-osc\\-allow
      names those that it obeys.
      .PP
      The page takes the same messages through a WebSocket,
      .IR ws://HOST:PORT/osc :
      binary frames are OSC packets, and each line of a text frame is a message in JSON,
      .BR ["/\(Self.root)/tempo",\\ 128] .
      Changes there need the code of
      .B tactus web
      after a question mark, or a paired browser.

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

extension String {
  /// The text up to the first full stop that ends a word. The three points of "..." end no sentence.
  fileprivate var firstSentence: String {
    let words = split(separator: " ")
    let end = words.firstIndex { $0.hasSuffix(".") && $0.dropLast().last?.isPunctuation == false }
    guard let end else { return self }
    return words[...end].joined(separator: " ")
  }
}

extension Aliases {
  static var markdown: String {
    all.map { alias in
      let meaning =
        switch alias.meaning {
        case .row(let path): "`\(path)`" + (alias.isTold ? alias.isTaken ? ", *sent* too" : ", *sent*" : "")
        case .press(let path, let value): "`\(path)` \(value.words)"
        case .verb(let verb): "`\(verb.rawValue)`"
        case .ardourSurface: "`subscribe`; the port is the seventh parameter"
        }
      return "| `\(alias.address)` | \(meaning) |\n"
    }.joined()
  }
}
