// SPDX-License-Identifier: GPL-2.0-or-later

/// What a configuration that is read again changes while tactus plays: only what it says otherwise than it did, so that
/// nothing else of what was chosen meanwhile is lost.
struct Reload: Equatable {
  /// What holds now.
  private(set) var wanted: Configuration
  private(set) var atOnce: [String] = []
  private(set) var later: [String] = []

  /// - Parameters:
  ///   - before: what file and command line said together, `after` what they say now.
  ///   - present: what holds, chosen by whomever.
  init(from before: Configuration, to after: Configuration, present: Configuration) {
    wanted = present
    let keys = ConfigurationFile.keys
    for option in keys.options {
      let value = keys.value(of: option, in: after)
      guard value.text != keys.value(of: option, in: before).text else { continue }
      if option.reach == .start {
        later.append(option.long)
      } else {
        option.copy(from: after, to: &wanted)
        atOnce.append(option.long)
      }
    }
  }

  var line: String {
    var parts = atOnce.isEmpty ? [] : ["\(atOnce.joined(separator: ", ")) changed"]
    if !later.isEmpty { parts.append("\(later.joined(separator: ", ")) from the next start on") }
    return "configuration read again: "
      + (parts.isEmpty ? "nothing is different" : parts.joined(separator: "; "))
  }
}
