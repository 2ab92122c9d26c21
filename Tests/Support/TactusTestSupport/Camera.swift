// SPDX-License-Identifier: GPL-2.0-or-later

/// A phone's camera: reads QR codes with an independent program.
public enum Camera {
  /// - Parameter dots: the rows of the picture; true is a dark dot.
  public static func read(_ dots: [[Bool]]) throws -> [String] {
    let here = String(#filePath)
    let folder = here[..<(here.lastIndex(of: "/") ?? here.startIndex)]
    let scratch = try ScratchFolder()
    let picture = dots.map { String($0.map { $0 ? "#" : " " } as [Character]) }.joined(separator: "\n")
    let file = try scratch.write(picture, to: "picture.txt")
    // Use the system's Python, because the QR reader is a package of the distribution.
    let done: ChildProcess.Finished = try ChildProcess.run(["/usr/bin/python3", "\(folder)/camera.py", file])
    guard done.status == 0 else { throw ChildProcess.Failure.ended(status: done.status, errors: done.errors) }
    return done.output.split(separator: "\n").map(String.init)
  }

  /// Reads a code drawn with half blocks on a terminal with a white background.
  public static func read(screen: String) throws -> [String] {
    let lines = screen.split(separator: "\n", omittingEmptySubsequences: false).map { Array($0) }
    let width = lines.map(\.count).max() ?? 0
    let dots = lines.flatMap { line in
      ["\u{2580}", "\u{2584}"].map { (half: Character) in
        (0..<width).map { $0 < line.count && (line[$0] == half || line[$0] == "\u{2588}") }
      }
    }
    // Add a white margin.
    let side = Array(repeating: false, count: 8)
    let band = Array(repeating: Array(repeating: false, count: width + 16), count: 8)
    return try read(band + dots.map { side + $0 + side } + band)
  }
}
