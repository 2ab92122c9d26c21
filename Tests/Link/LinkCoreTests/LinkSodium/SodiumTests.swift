// SPDX-License-Identifier: GPL-2.0-or-later
import FarLink
import Glibc
import TactusTestSupport
import Testing

@testable import LinkSodium

/// Compares the ciphers with values from other implementations, and checks keys as users write them.
struct SodiumTests {
  private func bytes(_ hex: String) -> [UInt8] {
    let digits = [UInt8](hex.utf8).map { UInt8($0 < 0x61 ? $0 - 0x30 : $0 - 0x57) }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }

  private func key(_ hex: String) -> FarKey { FarKey(bytes(hex))! }

  @Test func `the shared secret is that of RFC 7748 section 6.1`() throws {
    let bob = key("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")
    let alices = key("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a")
    #expect(
      Sodium.publicHalf(of: bob).bytes
        == bytes("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"))
    #expect(
      try #require(Sodium.shared(bob, with: alices)).bytes
        == bytes("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742"))
    // The following public halves would give the same shared secret to everyone.
    #expect(Sodium.shared(bob, with: FarKey([UInt8](repeating: 0, count: 32))!) == nil)
    #expect(Sodium.shared(bob, with: FarKey([1] + [UInt8](repeating: 0, count: 31))!) == nil)
  }

  @Test func `the hash is SHA-256 and its HMAC is that of RFC 4231`() {
    #expect(
      Sodium.hash([UInt8]("abc".utf8)).bytes
        == bytes("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"))
    // Test case 1 of RFC 4231. Its key has twenty bytes, to which HMAC appends zeros.
    let key = FarKey([UInt8](repeating: 0x0b, count: 20) + [UInt8](repeating: 0, count: 12))!
    #expect(
      Sodium.hmac([UInt8]("Hi There".utf8), key: key).bytes
        == bytes("b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"))
  }

  @Test(arguments: [0, 1, 30, 512]) func `sealed bytes can be opened only with their key, number and header`(
    count: Int
  ) throws {
    let (one, other) = (FarKey((0..<32).map { UInt8($0) })!, FarKey((1..<33).map { UInt8($0) })!)
    let plain = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
    let sealed = Sodium.seal(plain, one, number: 7, header: [3, 1])
    #expect(sealed.count == count + FarLimits.tag)
    #expect(Sodium.open(sealed, one, number: 7, header: [3, 1]) == plain)
    #expect(Sodium.open(sealed, other, number: 7, header: [3, 1]) == nil)
    #expect(Sodium.open(sealed, one, number: 8, header: [3, 1]) == nil)
    #expect(Sodium.open(sealed, one, number: 7, header: [3, 2]) == nil)
    for place in sealed.indices {
      var forged = sealed
      forged[place] ^= 0x40
      #expect(Sodium.open(forged, one, number: 7, header: [3, 1]) == nil)
    }
    for short in 0..<sealed.count {
      #expect(Sodium.open([UInt8](sealed.prefix(short)), one, number: 7, header: [3, 1]) == nil)
    }
  }

  @Test func `the description of a key does not reveal it`() {
    #expect("\(FarKey((65..<97).map { UInt8($0) })!)" == "a key")
  }

  // MARK: Text

  @Test func `different spellings of one key text give one key`() throws {
    let written = [
      "correct horse battery staple", "Correct-Horse  battery\tSTAPLE\n", " correct_horse-battery staple ",
    ]
    let keys = try written.map { try KeyText($0).key() }
    #expect(keys[0] == keys[1] && keys[1] == keys[2])
    let another = try KeyText("correct horse battery stable").key()
    #expect(!(another == keys[0]))
  }

  @Test func `a passphrase with accents gives one key on every keyboard`() throws {
    let typed = "Caf\u{E9} \u{DC}bung stra\u{DF}e fu\u{308}nf \u{3AC}\u{439}"
    let apart = "Cafe\u{301} U\u{308}bung stra\u{DF}e fu\u{308}nf \u{3B1}\u{301}\u{438}\u{306}"
    #expect(typed.utf8.count != apart.utf8.count)
    let keys = [try KeyText(typed), try KeyText(apart)].map { Array($0.written.utf8) }
    #expect(keys[0] == keys[1])
    // A key written by an earlier version stays the same.
    let before = try KeyText("\u{E9}tude for twenty pianos")
    #expect(Array(before.written.utf8) == Array("\u{E9}tude-for-twenty-pianos".utf8))
  }

  @Test func `a key text with too few letters or too equal letters is refused`() {
    #expect(throws: KeyText.Refusal.tooShort(least: 20)) { try KeyText("nineteen letters as") }
    #expect(throws: KeyText.Refusal.tooShort(least: 20)) { try KeyText("a - b - c - d - e - f - g - h") }
    #expect(throws: KeyText.Refusal.tooShort(least: 20)) { try KeyText("") }
    #expect(throws: KeyText.Refusal.tooEven) { try KeyText("abcabcabcabcabcabcabcabc") }
    #expect(throws: KeyText.Refusal.tooLong(most: 1024)) {
      try KeyText(String(repeating: "abcdefghi ", count: 200))
    }
  }

  @Test func `generated keys are usable, different and easy to read`() throws {
    let drawn = (0..<1000).map { _ in KeyText.drawn() }
    #expect(Set(drawn).count == 1000)
    for text in drawn {
      #expect(text.utf8.count == 29 && text.split(separator: "-").count == 5)
      #expect(!text.contains { "1lio".contains($0) } && text == text.lowercased())
      // Only one drawn key in many millions would be refused because its letters are too equal.
      _ = try KeyText(text)
    }
    // All 32 characters of the alphabet occur, and the hyphen.
    #expect(Set(drawn.joined()).count == 33)
  }

  // MARK: Files

  @Test func `a key file is private and never overwritten and can be read back`() throws {
    let directory = try ScratchFolder()
    let path = directory.path + "/key"
    umask(0)
    try KeyFile.write("2345-6789-abcd-efgh-jkmn-pqrs", to: path)
    var status = stat()
    #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
    #expect(try KeyFile.read(path).key() == KeyText("2345-6789-abcd-efgh-jkmn-pqrs").key())
    #expect(throws: KeyFile.Failure.system("open", EEXIST)) { try KeyFile.write("another", to: path) }
  }

  @Test func `only the finished key file is in the folder`() throws {
    let directory = try ScratchFolder()
    try KeyFile.write("2345-6789-abcd-efgh-jkmn-pqrs", to: directory.path + "/key")
    #expect(throws: KeyFile.Failure.system("open", EEXIST)) {
      try KeyFile.write("another", to: directory.path + "/key")
    }
    let folder = try #require(opendir(directory.path))
    defer { closedir(folder) }
    var names: Set<String> = []
    while let entry = readdir(folder) {
      names.insert(
        withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
    }
    #expect(names == [".", "..", "key"])
  }

  @Test(arguments: [0o644, 0o640, 0o604, 0o660, 0o610] as [mode_t])
  func `a key file that others may read is refused`(mode: mode_t) throws {
    let directory = try ScratchFolder()
    let path = directory.path + "/key"
    try KeyFile.write("2345-6789-abcd-efgh-jkmn-pqrs", to: path)
    chmod(path, mode)
    #expect(throws: KeyFile.Failure.notPrivate(mode: mode)) { try KeyFile.read(path) }
  }

  @Test func `a missing key file, a folder and an unusable key give three errors`() throws {
    let directory = try ScratchFolder()
    #expect(throws: KeyFile.Failure.system("open", ENOENT)) { try KeyFile.read(directory.path + "/none") }
    #expect(throws: KeyFile.Failure.notAFile) { try KeyFile.read(directory.path) }
    let pipe = directory.path + "/pipe"
    mkfifo(pipe, 0o600)
    #expect(throws: KeyFile.Failure.notAFile) { try KeyFile.read(pipe) }
    try KeyFile.write("short", to: directory.path + "/short")
    #expect(throws: KeyFile.Failure.unusable(.tooShort(least: 20))) {
      try KeyFile.read(directory.path + "/short")
    }
  }
}
