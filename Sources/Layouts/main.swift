// SPDX-License-Identifier: GPL-2.0-or-later
@preconcurrency import Glibc

let arguments = CommandLine.arguments.dropFirst()
guard arguments.count == 1, let top = arguments.first else {
  fputs("usage: Layouts DIRECTORY   (the top of the repository; see tools/layouts)\n", stderr)
  exit(2)
}
var files = Files.layouts
guard let page = Files.read("\(top)/docs/osc.md"),
  let written = Files.documentation(String(decoding: page, as: UTF8.self))
else {
  fputs("docs/osc.md has no place for the table\n", stderr)
  exit(1)
}
files.append(("docs/osc.md", Array(written.utf8)))
for (path, bytes) in files {
  guard Files.write(bytes, to: "\(top)/\(path)") else {
    fputs("cannot write \(top)/\(path): \(String(cString: strerror(errno)))\n", stderr)
    exit(1)
  }
  print("\(path): \(bytes.count) bytes")
}
