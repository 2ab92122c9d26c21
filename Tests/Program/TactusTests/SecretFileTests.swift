// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import Synchronization
import TactusTestSupport
import TactusWeb
import Testing

@testable import TactusApp

@Suite("The page's secret on the disk")
struct SecretFileTests {
  private final class Notices: Sendable {
    let all = Mutex<[String]>([])
    var texts: [String] { all.withLock { $0 } }
  }

  private let scratch: ScratchFolder
  private let path: String
  private let notices = Notices()

  init() throws {
    scratch = try ScratchFolder()
    path = scratch.path + "/state/tactus/pairing.json5"
  }

  private func file(_ path: String?, retryDelay: Duration = .seconds(3600)) -> SecretFile {
    SecretFile(path, retryDelay: retryDelay) { [notices] text in notices.all.withLock { $0.append(text) } }
  }

  private var mode: mode_t {
    var found = stat()
    return stat(path, &found) == 0 ? found.st_mode & 0o777 : 0
  }

  @Test
  func `the first read creates the page's secret, and all tactus share it`() throws {
    let one = file(path)
    #expect(one.known == nil)
    let secret = one.current()
    #expect(one.current() == secret && one.known == secret && mode == 0o600)
    #expect(file(path).current() == secret)
    #expect(try SecretFile.read(path) == secret)
    #expect(notices.texts.isEmpty)
  }

  @Test
  func `a renewed secret reaches every tactus when it next reads the file`() throws {
    let (one, other) = (file(path), file(path))
    let before = one.current()
    #expect(other.current() == before)
    let after = try SecretFile.renew(path)
    #expect(after != before && one.current() == after && other.current() == after && mode == 0o600)
    #expect(notices.texts.isEmpty)
    // If the file is deleted, the secret is replaced, too.
    #expect(unlink(path) == 0)
    let third = one.current()
    #expect(third != after && other.current() == third)
  }

  @Test(arguments: [
    "", "{", "\0\u{FFFD}", "{code: 7, token: true}", "{code: \"K7QM-3XPA-9BCD-EFGH\"}",
    "{code: \"K7QM-3XPA-9BCD-EFGH\", token: \"\"}", String(repeating: "[", count: 10_000),
  ])
  func `a damaged secret of the page is reported and replaced`(text: String) throws {
    try scratch.write(text, to: "state/tactus/pairing.json5")
    #expect(chmod(path, 0o600) == 0)
    let secret = file(path).current()
    #expect(notices.texts == ["\(path) is damaged or was changed: all browsers have to pair again"])
    #expect(file(path).current() == secret && notices.texts.count == 1)
  }

  @Test
  func `a secret that other users could read is replaced`() throws {
    let before = file(path).current()
    #expect(chmod(path, 0o640) == 0)
    let after = file(path).current()
    #expect(after != before && mode == 0o600)
    #expect(notices.texts == ["\(path): others could read it: all browsers have to pair again"])
  }

  @Test
  func `a secret that can't be written stays the same, with one warning`()
    throws
  {
    try scratch.write("", to: "state")
    let one = file(path)
    let secret = one.current()
    for _ in 0..<3 { #expect(one.current() == secret) }
    #expect(notices.texts.count == 1)
    #expect(notices.texts[0].contains("can't be saved") && notices.texts[0].contains("until tactus ends"))
    // A folder in the file's place is not deleted.
    let folder = scratch.path + "/pairing.json5"
    #expect(mkdir(folder, 0o700) == 0)
    #expect(file(folder).current() != secret && notices.texts.count == 3)
    #expect(throws: UserError.self) { try SecretFile.renew(folder) }
  }

  @Test
  func `a secret is written as soon as possible, and stays the same`()
    throws
  {
    try scratch.write("", to: "state")
    let (one, hasty) = (file(path, retryDelay: .zero), file(path))
    let secret = one.current()
    for _ in 0..<3 { #expect(one.current() == secret) }
    #expect(throws: UserError.self) { try WebCommand.secret(in: path) }
    _ = hasty.current()
    #expect(unlink(scratch.path + "/state") == 0)
    #expect(one.current() == secret && notices.texts.count == 2)
    #expect(try WebCommand.secret(in: path) == secret && mode == 0o600)
    // From now on, every tactus uses this secret.
    #expect(hasty.current() == secret)
    // If a folder or a link to nowhere stands in the file's place, the secret can't be written
    // either.
    for name in ["folder", "link"] {
      let place = scratch.path + "/" + name
      #expect((name == "folder" ? mkdir(place, 0o700) : symlink("/nowhere/at/all", place)) == 0)
      let other = file(place, retryDelay: .zero)
      let secret = other.current()
      let said = notices.texts.count
      #expect(other.current() == secret && notices.texts.count == said)
      do throws(UserError) {
        _ = try WebCommand.secret(in: place)
        Issue.record("there is none")
      } catch {
        #expect(error.text.hasPrefix(place) && error.text.contains("view"))
      }
      #expect(remove(place) == 0)
      #expect(other.current() == secret)
      #expect(try SecretFile.read(place) == secret && notices.texts.count == said)
    }
  }

  @Test
  func `without a state folder, the secret is for this run alone`() {
    let one = file(nil)
    #expect(one.current() == one.current() && one.current() != file(nil).current())
    #expect(notices.texts.isEmpty)
  }

  @Test
  func `the secret is beside the state file of the user`() {
    let places = Places { ["HOME": "/home/me"][$0] }
    #expect(SecretFile.path(in: places) == "/home/me/.local/state/tactus/pairing.json5")
    #expect(SecretFile.path(in: Places { _ in nil }) == nil)
  }
}
