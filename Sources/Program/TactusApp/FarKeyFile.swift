// SPDX-License-Identifier: GPL-2.0-or-later
import FarLink
import Glibc
import LinkSodium

/// Reads the key for other rooms from its file, and describes failures in words.
enum FarKeyFile {
  static func usualPath(in places: Places = .ofThisUser) -> String? {
    places.configuration.flatMap { file in file.lastIndex(of: "/").map { file[...$0] + "far-key" } }
  }

  static func key(at path: String?) throws(UserError) -> FarKey {
    guard let place = path ?? usualPath() else {
      throw UserError(
        "neither XDG_CONFIG_HOME nor HOME says where the key for other rooms is; write --link-key=FILE")
    }
    do throws(KeyFile.Failure) {
      let text = try KeyFile.read(place)
      do throws(KeyText.Refusal) {
        return try text.key()
      } catch {
        throw KeyFile.Failure.unusable(error)
      }
    } catch {
      throw UserError(words(error, at: place, isUsual: path == nil))
    }
  }

  static func words(_ failure: KeyFile.Failure, at path: String, isUsual: Bool = false) -> String {
    switch failure {
    case .system("open", ENOENT) where isUsual:
      "there is no key for other rooms yet: tactus far-key makes one, tactus far-key --typed takes the one of the other room"
    case .system("open", EEXIST):
      "\(path) exists already, and the other rooms have its key; remove it first if you want a new one"
    case .system(_, let code): "\(path): \(String(cString: strerror(code)))"
    case .notPrivate(let mode):
      "\(path) can be read or written by others (mode \(String(mode, radix: 8))); chmod 600 \(path)"
    case .notOurs: "\(path) belongs to another user"
    case .notAFile: "\(path) is not a file"
    case .unusable(let refusal): "\(path): \(words(refusal))"
    }
  }

  static func words(_ refusal: KeyText.Refusal) -> String {
    switch refusal {
    case .tooShort(let least):
      "a key needs at least \(least) letters and digits: a shorter one can be guessed from recorded "
        + "packets"
    case .tooEven: "this key repeats the same few letters: it can be guessed"
    case .tooLong(let most): "a key has at most \(most) bytes"
    case .noMemory: "not enough memory: to make a key from words takes 64 MB"
    }
  }
}
