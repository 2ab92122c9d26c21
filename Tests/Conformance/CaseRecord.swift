// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import Testing

/// What was done and seen in one case on one or two hosts: an expectation per step, and a line of it in a file for
/// `tools/conformance`.
final class CaseRecord {
  private let name, title: String
  private let hosts: Int
  private var lines: [String] = []

  init(_ name: String, _ title: String, hosts: Int) {
    (self.name, self.title, self.hosts) = (name, title, hosts)
  }

  /// A step of the plan; with `holds`, what had to be seen.
  func step(
    _ what: String, _ observed: String = "", holds: Bool? = nil,
    at place: SourceLocation = #_sourceLocation
  ) {
    let verdict = holds.map { $0 ? "pass" : "FAIL" } ?? ""
    lines.append([verdict, what, observed].map(Self.oneLine).joined(separator: "\t"))
    if let holds {
      #expect(holds, "\(name), \(hosts) host(s): \(what): \(observed)", sourceLocation: place)
    }
  }

  private static func oneLine(_ text: String) -> String {
    String(text.map { $0 == "\n" || $0 == "\t" ? " " : $0 })
  }

  /// Into the directory that `tools/conformance` names.
  func write() {
    guard let directory = getenv("CONFORMANCE_RECORD") else { return }
    let path = String(cString: directory) + "/\(name).\(hosts)"
    guard let file = fopen(path, "w") else {
      Issue.record("\(path) cannot be written")
      return
    }
    fputs(([title] + lines).joined(separator: "\n") + "\n", file)
    fclose(file)
  }
}
