// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

/// The steps and observations of one case of the test plan, on one or two hosts. Each step is an expectation
/// of the test, and a line in a file for `tools/conformance`.
final class CaseRecord {
  private let name, title: String
  private let hosts: Int
  private var lines: [String] = []

  init(_ name: String, _ title: String, hosts: Int) {
    (self.name, self.title, self.hosts) = (name, title, hosts)
  }

  /// Records a step of the plan; with `holds`, also expects it.
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

  /// Records a step that could not be judged. In the record, which documents that our program passes the
  /// plan, such a step has failed.
  func undecided(_ what: String, _ why: String) {
    notJudged("\(name), \(hosts) host(s): \(what): \(why)")
    lines.append(["FAIL", what, why].map(Self.oneLine).joined(separator: "\t"))
  }

  private static func oneLine(_ text: String) -> String {
    String(text.map { $0 == "\n" || $0 == "\t" ? " " : $0 })
  }

  /// Writes the record into the directory that `tools/conformance` names.
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
