// SPDX-License-Identifier: GPL-2.0-or-later
// begin import
import Link

// end import

/// The article `FollowATempo` of Link's documentation, word for word between the marks.
@main
enum Follow {
  static func main() async throws {
    // Name an interface that does not exist, so that nothing is sent.
    try await withLink(Link.Configuration(tempo: 120, interfaces: ["nowhere0"])) { link in
      let shown = Task { [updates = link.updates()] in await show(updates) }
      link.update { state, now in state.setTempo(480, at: now) }
      try await onEachBeat(of: link, quantum: 4, times: 5) { phase in print("beat \(phase + 1)") }
      shown.cancel()
      print("\(await shown.value) BPM")
    }
  }
}

// begin show
func show(_ updates: AsyncStream<Link.Status>) async -> Double {
  var last = 0.0
  for await status in updates { last = status.tempo }
  return last
}
// end show

// begin beats
func onEachBeat(
  of link: Link, quantum: Double, times: Int, _ act: @Sendable (Int) -> Void
) async throws {
  var next: Double?
  for _ in 0..<times {
    while true {
      let state = link.capture()
      let now = Link.now
      let beat = state.beat(at: now, quantum: quantum)
      // A program that joins a session takes over the session's beat. The number of the next beat
      // is then another one.
      let wanted = next.flatMap { abs($0 - beat) < 1.5 ? $0 : nil } ?? beat.rounded(.up)
      next = wanted
      let time = state.time(atBeat: wanted, quantum: quantum)
      if time <= now { break }
      // A peer may change the tempo meanwhile, so look again every 20 ms.
      try await Task.sleep(until: min(time, now + .milliseconds(20)), clock: .link)
    }
    let beat = next ?? 0
    act(Int(beat - quantum * (beat / quantum).rounded(.down)))
    next = beat + 1
  }
}
// end beats
