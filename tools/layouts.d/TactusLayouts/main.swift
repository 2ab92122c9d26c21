// SPDX-License-Identifier: GPL-2.0-or-later
@preconcurrency import Glibc

let arguments = CommandLine.arguments.dropFirst()
guard arguments.count == 1, let top = arguments.first else {
  fputs("usage: Layouts DIRECTORY   (the top of the repository; see tools/layouts)\n", stderr)
  exit(2)
}
var files = Files.layouts
for (path, table) in Files.pages {
  guard let page = Files.read("\(top)/\(path)"),
    let written = Files.documentation(String(decoding: page, as: UTF8.self), with: table)
  else {
    fputs("\(path) has no place for its table\n", stderr)
    exit(1)
  }
  files.append((path, Array(written.utf8)))
}
for (path, bytes) in files {
  guard Files.write(bytes, to: "\(top)/\(path)") else {
    fputs("cannot write \(top)/\(path): \(String(cString: strerror(errno)))\n", stderr)
    exit(1)
  }
  print("\(path): \(bytes.count) bytes")
}
