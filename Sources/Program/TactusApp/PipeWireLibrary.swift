// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusJACK

/// PipeWire's libjack, for a tactus that is linked with jackd's. Debian installs PipeWire's libjack in a
/// folder of its own, where only `pw-jack` finds it.
enum PipeWireLibrary {
  /// The environment variable that marks a tactus that was started again with PipeWire's libjack. Its value
  /// is a colon and the former LD_LIBRARY_PATH.
  private static let mark = "TACTUS_LIBRARY_PATH"
  private static let mostDescriptors: Int32 = 1024

  /// The folder of PipeWire's libjack; nil: it is not installed.
  static var folder: String? {
    #if arch(x86_64)
      let triple = "x86_64-linux-gnu"
    #else
      let triple = "aarch64-linux-gnu"
    #endif
    return ["/usr/lib/\(triple)", "/usr/lib64", "/usr/lib"].lazy.map { $0 + "/pipewire-0.3/jack" }
      .first { access($0 + "/libjack.so.0", R_OK) == 0 }
  }

  /// Whether PipeWire accepts connections. Its socket file alone proves nothing: the file may outlive
  /// PipeWire.
  static var answers: Bool {
    let folders = ["PIPEWIRE_RUNTIME_DIR", "XDG_RUNTIME_DIR"].compactMap { Environment.text($0) }
    guard let path = folders.first.map({ $0 + "/pipewire-0" }) else { return false }
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else { return false }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    return withUnsafeBytes(of: &address) {
      let place = $0.baseAddress!.assumingMemoryBound(to: sockaddr.self)
      return connect(descriptor, place, socklen_t($0.count)) == 0
    }
  }

  /// Which libjack to use if no server was found.
  enum Choice: Equatable {
    case stay, pipeWire, system
  }

  /// A server that the user names is jackd's, so the library stays. It also stays if tactus was started again
  /// (`isMarked`) and yet has the old library: otherwise tactus would restart for ever.
  static func choice(
    isNamed: Bool, pipeWireAnswers: Bool, isInstalled: Bool, isLoaded: Bool, isMarked: Bool
  ) -> Choice {
    guard !isNamed else { return .stay }
    switch (isLoaded, isMarked) {
    case (false, false): return pipeWireAnswers && isInstalled ? .pipeWire : .stay
    case (true, true): return pipeWireAnswers ? .stay : .system
    case (false, true), (true, false): return .stay
    }
  }

  /// If no jackd answers but PipeWire does, starts this program again with PipeWire's libjack, in the same
  /// process. If PipeWire is gone, starts it again with the system's libjack. Returns only if the library
  /// stays.
  static func change(server: String?, before: () -> Void = {}) {
    let isLoaded = if case .pipeWire = JACKImplementation.loaded { true } else { false }
    let marked = Environment.text(mark)
    let choice = choice(
      isNamed: server != nil || Environment.text("JACK_DEFAULT_SERVER") != nil, pipeWireAnswers: answers,
      isInstalled: folder != nil, isLoaded: isLoaded, isMarked: marked != nil)
    let old = Environment.text("LD_LIBRARY_PATH") ?? ""
    switch choice {
    case .stay: return
    case .pipeWire:
      guard let folder else { return }
      setenv("LD_LIBRARY_PATH", old.isEmpty ? folder : folder + ":" + old, 1)
      setenv(mark, ":" + old, 1)
    case .system:
      let before = String((marked ?? "").dropFirst())
      if before.isEmpty { unsetenv("LD_LIBRARY_PATH") } else { setenv("LD_LIBRARY_PATH", before, 1) }
      unsetenv(mark)
    }
    before()
    startAgain()
  }

  /// The server's clients and ports. If no jackd answers but PipeWire does, this program starts again with
  /// PipeWire's libjack. For commands, which look once and have nothing open yet.
  static func survey(server: String?) throws(JACKError) -> GraphSurvey {
    do throws(JACKError) {
      return try GraphSurvey(lookingAt: server)
    } catch {
      if case .noServer = error { change(server: server) }
      throw error
    }
  }

  private static func startAgain() {
    var path = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &path, path.count - 1)
    guard count > 0 else { return }
    for descriptor in 3..<mostDescriptors { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    var words = CommandLine.arguments.map { strdup($0) } + [nil]
    execv(path, &words)
  }

  /// Advice for a user of PipeWire if PipeWire's libjack is not installed; nil: none is needed.
  static var advice: String? {
    answers && folder == nil
      ? "PipeWire runs, but its JACK library is missing: apt install pipewire-jack" : nil
  }
}
