// SPDX-License-Identifier: GPL-2.0-or-later

extension Table {
  static let outward: [Node] = [
    .order(
      "osc/send", [.text(limit: OutwardMessage.longest)],
      "Sends one OSC message to another program: \(OutwardMessage.allowed).", from: .thisMachine
    ) { values, _ throws(Refusal) in
      .outward(try OutwardMessage(values[0].text))
    }
  ]
}
