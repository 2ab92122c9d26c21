// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

/// Tests `tools/lab` as a command: what it gives to COMMAND, and that it leaves nothing behind.
@Suite(.serialized) struct StageTests {
  private func lab(
    _ arguments: String..., within limit: Duration = .seconds(60)
  ) async throws -> ChildProcess.Finished {
    try await ChildProcess.run([Lab.tool] + arguments, within: limit)
  }

  @Test func `the exit status of tools/lab is that of its command`() async throws {
    #expect(try await lab("--no-server", "--", "sh", "-c", "exit 7").status == 7)
    #expect(try await lab("--no-server", "--", "sh", "-c", "kill -9 $$").status == 137)
    #expect(try await lab("--no-server", "--", "/nonexistent").status == 127)
    #expect(try await lab("--no-server", "--", "/etc/passwd").status == 126)
    let wrong = try await lab("--period", "ten", "--", "true")
    #expect(wrong.status == 2 && wrong.errors.contains("--period ten"))
    let outside = try await ChildProcess.run([Lab.tool, "on", "2", "true"], environment: ["LAB_DIR": ""])
    #expect(outside.errors.contains("only inside a lab"))
  }

  @Test(arguments: [["--period", "128"], ["--pipewire", "--period", "128"]])
  func `the lab's JACK server has the wanted period when the command starts`(options: [String])
    async throws
  {
    let done = try await ChildProcess.run(
      [Lab.tool] + options + ["--", "sh", "-c", "jack_bufsize; jack_lsp"])
    #expect(done.output.contains("128"))
    #expect(done.output.contains("system:playback_"))
  }

  @Test func `a lab within a lab has its own network and servers`() async throws {
    let done = try await lab(
      "--no-server", "--", Lab.tool, "--hosts", "2", "--", Lab.tool, "on", "2", "jack_lsp")
    #expect(done.status == 0, "\(done.errors)")
    #expect(done.output.contains("system:playback_1"))
  }

  @Test(arguments: [1, 2])
  func `a lab in another Debian release has that release's JACK server`(hosts: Int) async throws {
    let words = "cat /etc/debian_version; touch /etc/written && jack_lsp; ls \"$LAB\""
    // On a new machine, tools/test may still be making the other Debian's root folder, and the lab waits for
    // the lock of that folder.
    let done = try await lab(
      "--root", "trixie", "--hosts", "\(hosts)", "--", "sh", "-c", "$LAB on \(hosts) sh -c '\(words)'",
      within: .seconds(400))
    // A machine that cannot reach Debian's servers has no root folder of Debian 13.
    if done.errors.contains("there is no root") { try unjudged("no root of Debian 13") }
    if geteuid() != 0 { try unjudged("a root needs root") }
    #expect(done.status == 0, "\(done.errors)")
    #expect(done.output.hasPrefix("13"), "\(done.output)")
    #expect(done.output.contains("system:playback_1") && done.output.contains("tools/lab"), "\(done.output)")
    #expect(access("/etc/written", F_OK) != 0)
  }

  @Test func `tools/lab --root refuses an unknown Debian release`() async throws {
    let done = try await lab("--root", "potato", "--", "true")
    #expect(done.status == 2 && done.errors.contains("there are trixie and sid"))
  }

  /// The test runs in its own lab, whose /proc shows no processes and namespaces from outside. Their numbers
  /// are soon reused, which would disturb the comparison.
  @Test(arguments: [SIGINT, SIGTERM, SIGHUP, SIGKILL])
  func `no process, namespace or mount outlives a lab ended by a signal`(signal: Int32) async throws {
    let script = """
      census() {
        cat /proc/self/mountinfo
        set -- /proc/[0-9]*
        echo $# processes
        for process; do readlink $process/ns/net $process/ns/mnt $process/ns/pid; done | sort -u
        ls -A /dev/shm "$LAB_DIR"
      }
      touch $LAB_DIR/before $LAB_DIR/during $LAB_DIR/after $LAB_DIR/out
      census > $LAB_DIR/before
      $LAB --hosts 2 -- sh -c 'sleep 1000 & setsid sleep 1000 & $LAB on 2 echo up; exec sleep 1000' > $LAB_DIR/out &
      until grep -q up $LAB_DIR/out; do sleep 0.05; done
      census > $LAB_DIR/during
      kill -\(signal) $!
      wait $!
      echo ended $?
      for attempt in $(seq 100); do
        census > $LAB_DIR/after
        cmp -s $LAB_DIR/before $LAB_DIR/after && break
        sleep 0.05
      done
      cmp -s $LAB_DIR/before $LAB_DIR/during && echo nothing was there to begin with
      diff $LAB_DIR/before $LAB_DIR/after && echo clean
      """
    let done = try await LabStage("--no-server").run("sh", "-c", script)
    #expect(done.output == "ended \(128 + signal)\nclean\n")
  }

  @Test func `a lab's command that ignores SIGTERM is killed after --grace seconds`() async throws {
    let deaf = "trap '' TERM; echo up; while :; do sleep 1; done"
    let stubborn = try ChildProcess([Lab.tool, "--no-server", "--grace", "0.2", "--", "sh", "-c", deaf])
    #expect(try await stubborn.line() == "up")
    stubborn.signal(SIGTERM)
    #expect(await stubborn.status() == 128 + SIGTERM)
  }

  @Test(.enabled("needs root and a clone that all can read") { await isReadableByAll(Lab.tool) })
  func `the lab works for a user without root's rights`() async throws {
    let ordinary = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    let done = try await ChildProcess.run(
      ordinary + [Lab.tool, "--hosts", "2", "--", "sh", "-c", "$LAB on 2 jack_lsp; ip -br addr"],
      environment: ["XDG_CACHE_HOME": "/nonexistent", "HOME": "/nonexistent"])
    #expect(done.status == 0, "\(done.errors)")
    #expect(done.output.contains("system:playback_1") && done.output.contains("10.77.0.1"))
  }

  @Test(.enabled(if: geteuid() == 0, "needs root, to take it away"))
  func `a lab that is not allowed to make namespaces says what to do`() async throws {
    let powerless = """
      echo 0 > /proc/sys/user/max_user_namespaces
      exec setpriv --bounding-set=-all --inh-caps=-all \(Lab.tool) -- true
      """
    let done = try await ChildProcess.run(["unshare", "--user", "--map-root-user", "sh", "-c", powerless])
    #expect(done.status == 125)
    #expect(done.errors.contains("user.max_user_namespaces"))
  }
}

private func isReadableByAll(_ path: String) async -> Bool {
  let test = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "test", "-x", path]
  return (try? await ChildProcess.run(test).status) == 0
}
