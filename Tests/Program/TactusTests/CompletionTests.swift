// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

@testable import TactusApp

/// Tests the completions for bash, zsh and fish by running these shells.
@Suite struct CompletionTests {
  /// The words that a bash without further packages offers. The last of `words` is the one that is being
  /// typed.
  private func bash(_ words: String...) async throws -> Set<String> {
    let script = """
      \(BashCompletion.text())
      COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
      _tactus && printf '%s\\n' "${COMPREPLY[@]}"
      """
    let done = try await ChildProcess.run(["bash", "--norc", "-c", script, "bash"] + words)
    #expect(done.errors == "")
    return Set(done.output.split(separator: "\n").map(String.init))
  }

  @Test func `bash completes commands, options, their negations and values`() async throws {
    #expect(try await bash("tactus", "comp") == ["completions"])
    #expect(try await bash("tactus", "--star") == ["--start-server", "--startstop"])
    #expect(
      try await bash("tactus", "--wait", "--no-cl") == ["--no-click", "--no-clock"])
    #expect(try await bash("tactus", "--lead", "") == ["link", "host", "auto", "midi"])
    // Readline splits the word "--lead=h" into these pieces.
    #expect(try await bash("tactus", "--lead", "=", "h") == ["host"])
    #expect(try await bash("tactus", "--lead", "=") == ["link", "host", "auto", "midi"])
    #expect(try await bash("tactus", "--osc", "=", "of") == ["off"])
    // The value of --osc has to be attached.
    #expect(try await bash("tactus", "--osc", "of") == [])
    #expect(try await bash("tactus", "completions", "") == ["bash", "zsh", "fish"])
    #expect(try await bash("tactus", "completions", "--") == ["--help"])
    #expect(
      try await bash("tactus", "send", "midi/l").isSuperset(of: ["midi/list", "midi/learn", "midi/last"]))
    #expect(try await bash("tactus", "--beat-file", "/etc/pass").contains("/etc/passwd"))
  }

  @Test func `bash completes the sessions' names`() async throws {
    let script = """
      \(BashCompletion.text())
      tactus() { [ "$*" = "session list" ] && printf 'hydrogen     Kicks\\ntwo-rooms    Far\\n\\n/x/NAME/README.md says more.\\n'; }
      COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
      _tactus && printf '%s\\n' "${COMPREPLY[@]}"
      """
    for (typed, offered) in [("", "hydrogen\ntwo-rooms\n"), ("t", "two-rooms\n")] {
      let done = try await ChildProcess.run([
        "bash", "--norc", "-c", script, "bash", "tactus", "session", "start", typed,
      ])
      #expect(done.output == offered && done.errors == "", "\(done.errors)")
    }
    #expect(try await bash("tactus", "session", "") == ["list", "start"])
  }

  @Test func `fish completes the sessions' names`() async throws {
    guard try await ChildProcess.run(["sh", "-c", "command -v fish"]).status == 0 else { return }
    let script = """
      \(FishCompletion.text())
      function tactus; printf 'hydrogen     Kicks\\ntwo-rooms    Far\\n\\n/x/NAME/README.md says more.\\n'; end
      complete -C 'tactus session start '
      """
    let done = try await ChildProcess.run(["fish", "-N", "-c", script])
    #expect(done.output.split(separator: "\n") == ["hydrogen", "two-rooms"], "\(done.output)\(done.errors)")
  }

  @Test func `bash completes JACK's ports behind an equals sign and a colon`() async throws {
    let script = """
      \(BashCompletion.text())
      jack_lsp() { printf '%s\\n' system:playback_1 system:playback_2 tactus:click_1; }
      COMP_LINE=$1 COMP_POINT=${#1}
      shift
      COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
      _tactus && printf '%s\\n' "${COMPREPLY[@]}"
      """
    func ports(_ line: String, _ words: String...) async throws -> Set<String> {
      let done = try await ChildProcess.run(["bash", "--norc", "-c", script, "bash", line] + words)
      #expect(done.errors == "")
      return Set(done.output.split(separator: "\n").map(String.init))
    }
    #expect(
      try await ports("tactus -c sys", "tactus", "-c", "sys") == ["system:playback_1", "system:playback_2"])
    #expect(
      try await ports("tactus -c system:playback_2", "tactus", "-c", "system", ":", "playback_2") == [
        "playback_2"
      ])
    #expect(
      try await ports("tactus --connect=click_1=tac", "tactus", "--connect", "=", "click_1", "=", "tac")
        == ["tactus:click_1"])
  }

  @Test func `bash loads tactus's completions when Tab is pressed in a terminal`() async throws {
    // Readline needs a terminal, and script(1) provides one.
    let script = """
      \(BashCompletion.text())
      bind 'set bell-style none' 2>/dev/null
      bind -x '"\\C-g": printf "line=%s\\n" "$READLINE_LINE"' 2>/dev/null
      """
    let scratch = try ScratchFolder()
    let name = try scratch.write(script, to: "bashrc")
    let child = try ChildProcess(
      ["script", "-qec", "bash --noprofile --rcfile \(name) -i", "/dev/null"],
      environment: ["TERM": "dumb", "PS1": "", "INPUTRC": "/dev/null"])
    child.send("tactus --lead=h\t --starts\t\u{7}")
    var said = ""
    while let line = try await child.line() {
      said = line
      if line.contains("line=") { break }
    }
    #expect(said.contains("line=tactus --lead=host  --startstop"), "\(said)")
    child.signal(SIGKILL)
  }

  @Test(arguments: ["zsh", "fish"])
  func `zsh and fish accept their completions`(shell: String) async throws {
    let text = shell == "zsh" ? ZshCompletion.text() : FishCompletion.text()
    let found = try await ChildProcess.run(["sh", "-c", "command -v \(shell)"])
    guard found.status == 0 else { return }
    // fish reports errors only when it loads them.
    let options = shell == "zsh" ? ["-n", "-c"] : ["-N", "-c"]
    let done = try await ChildProcess.run([shell] + options + [text])
    #expect(done.status == 0 && done.errors == "", "\(done.errors)")
  }

  @Test func `the completions of all three shells have every option of every command`() {
    for command in [CommandOutline.program] + CommandOutline.commands {
      for option in command.options {
        for text in [BashCompletion.text(), ZshCompletion.text()] {
          #expect(text.contains("--\(option.long)"))
        }
        #expect(FishCompletion.text().contains("-l \(option.long) "))
      }
    }
  }
}
