// SPDX-License-Identifier: GPL-2.0-or-later

// Many `LinkSession` machines on a virtual network, with drifting clocks and other
// troubles, from one seed. `LinkWorld` has the simulation and its invariants; this
// program adds the options, several processors, and the printing.
//
// It has no sockets and no real time: an hour of Link takes only as long as computing its packets takes.

import Glibc
import LinkBeatMath
import LinkWorld

@main
struct LinkSimulator {
  static func main() async {
    switch Arguments.parse(Array(CommandLine.arguments.dropFirst())) {
    case .failure(let refusal):
      Console.complain("LinkSimulator: \(refusal.text)\nTry LinkSimulator --help")
      exit(2)
    case .success(let arguments):
      switch arguments.task {
      case .help: print(Arguments.help)
      case .one: exit(World.run(arguments) ? 0 : 1)
      case .many: exit(await Campaign.run(arguments) ? 0 : 1)
      case .day: exit(StudioDayReport.run(arguments) ? 0 : 1)
      case .fiveNodes: exit(FiveNodesTable.run(arguments) ? 0 : 1)
      case .growth: exit(World.growth(arguments) ? 0 : 1)
      }
    }
  }
}

enum Console {
  /// Prints to stderr, so that messages are not mixed with the results.
  static func complain(_ text: String) {
    write(text + "\n")
  }

  static func progress(_ text: String) {
    write("\r" + text + "\u{1b}[K")
  }

  static func endProgress() {
    write("\r\u{1b}[K")
  }

  private static func write(_ text: String) {
    var text = text
    text.withUTF8 { _ = Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }

  static func processorSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
  }

  static func seconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
  }
}
