// SPDX-License-Identifier: GPL-2.0-or-later
// begin import
import Link

// end import

/// The article `FollowATempo` of Link's documentation, word for word between the marks.
@main
enum Follow {
  static func main() async throws {
    // An interface that is not there: nothing is sent.
    try await withLink(Link.Configuration(tempo: 120, interfaces: ["nowhere0"])) { link in
      let shown = Task { [tempos = link.tempoChanges()] in await show(tempos) }
      link.updateAppState { $0.setTempo(480, at: Link.clock()) }
      try await onEachBeat(of: link, quantum: 4, times: 5) { phase in print("beat \(phase + 1)") }
      shown.cancel()
      print("\(await shown.value) BPM")
    }
  }
}

// begin show
func show(_ tempos: AsyncStream<Double>) async -> Double {
  var last = 0.0
  for await tempo in tempos { last = tempo }
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
      let state = link.captureAppState()
      let now = Link.clock()
      let beat = state.beat(at: now, quantum: quantum)
      // Who joins a session takes its beat over: then the next one is another.
      let wanted = next.flatMap { abs($0 - beat) < 1.5 ? $0 : nil } ?? beat.rounded(.up)
      next = wanted
      let wait = state.time(atBeat: wanted, quantum: quantum) - now
      if wait <= .zero { break }
      // Not all of it at once: somebody may change the tempo meanwhile.
      try await Task.sleep(for: min(wait, Micros(.milliseconds(20))).duration)
    }
    let beat = next ?? 0
    act(Int(beat - quantum * (beat / quantum).rounded(.down)))
    next = beat + 1
  }
}
// end beats
