// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

/// The imports between the Python modules of a package; for instance, "soak.faults" imports "common".
struct PythonImports {
  private var imports: [String: Set<String>] = [:]

  /// `files`: the text of each module, by its path below the package's folder.
  init(_ files: [String: String]) {
    let names = Dictionary(uniqueKeysWithValues: files.keys.map { (Self.name($0), $0) })
    for (name, path) in names {
      let package = path.split(separator: "/").dropLast().map(String.init)
      for line in files[path]!.split(separator: "\n") {
        let words = line.split(whereSeparator: { " ,()".contains($0) }).map(String.init)
        guard words.count > 3, words[0] == "from", words[1].hasPrefix("."), words[2] == "import" else {
          continue
        }
        let dots = words[1].prefix { $0 == "." }.count
        let parent =
          package.dropLast(dots - 1) + words[1].dropFirst(dots).split(separator: ".").map(String.init)
        // Each imported name is a module of that folder, or an item of the imported module.
        for word in words[3...] {
          let module = (parent + [word]).joined(separator: ".")
          imports[name, default: []].insert(names[module] != nil ? module : parent.joined(separator: "."))
        }
      }
    }
  }

  private static func name(_ path: String) -> String {
    String(path.dropLast(".py".count)).split(separator: "/").filter { $0 != "__init__" }.joined(
      separator: ".")
  }

  var count: Int { imports.count }

  /// The modules in import circles, and the modules that import a module of a circle.
  var circle: Set<String> {
    var rest = imports
    while case let free = rest.filter({ $0.value.allSatisfy { rest[$0] == nil } }), !free.isEmpty {
      for name in free.keys { rest[name] = nil }
    }
    return Set(rest.keys)
  }
}

@Test
func `the Python modules in tools/lib have no import circle`() throws {
  let folder = "tools/lib/workshop"
  let paths = Repository.files(below: folder).filter { $0.hasSuffix(".py") }
  let files = try paths.map { (String($0.dropFirst(folder.count + 1)), try #require(Repository.text($0))) }
  let imports = PythonImports(Dictionary(uniqueKeysWithValues: files))
  #expect(imports.count > 30, "the modules were not found")
  #expect(imports.circle.isEmpty)
}

@Test
func `an import circle through three Python modules is found`() {
  let files = [
    "a.py": "from . import b\n", "b.py": "from .c import d\n", "c.py": "import os\nfrom . import a, e\n",
    "e.py": "",
    "f/__init__.py": "def main():\n    from . import g\n", "f/g.py": "from ..e import x\n",
  ]
  #expect(PythonImports(files).circle == ["a", "b", "c"])
}
