// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkSession
import LinkWorld
import TactusSync

/// Exports, freewheels without an export, and deaths of the server.
extension Player {
  struct Freewheel {
    /// The number of cycles that are left in the export. Cycles in which the transport stops, gets ready, and
    /// stops again are included.
    var left: Int
    var isExport: Bool
    var passed = 0
    static let margin = 2
  }

  func meetFate() {
    if Int.random(in: 0..<cyclesPerExport, using: &dice) == 0 { return beginFreewheel() }
    let isStarting = if case .starting = transport.state { true } else { false }
    // The server dies again only after a launch has succeeded, so that each launch after a death is checked.
    let hasStarted = receiver.starts != startsAtDeath
    let isMeant = hasStarted && plan.diesIn.map { $0 == .waiting ? isStarting : isReleased } ?? false
    // A launch waits for about a bar, and is released for a cycle or two.
    let cycles = isMeant ? (isStarting ? 100 : 2) : isStarting ? 2_000 : Self.cyclesPerDeath
    guard Int.random(in: 0..<cycles, using: &dice) == 0 else { return }
    deaths.count += 1
    startsAtDeath = receiver.starts
    if isStarting || isMeant { deaths.inLaunches += 1 }
    isReleased = false
    sync = HostSync()
    let crystal = driver.crystal
    driver = Jack2Clock(
      sampleRate: Double(plan.sampleRate),
      start: driver.nextDue + Double.random(in: 1e4...3e6, using: &dice))
    driver.crystal = crystal
    transport = Transport(state: .stopped, frame: 0)
    receiver.unplug()
    comeBack()
  }

  /// Starts over after an export or a death of the server: for a cycle or two, the time is unknown.
  private func comeBack() {
    isBack = true
    cyclesSinceStall = -1
  }

  private func beginFreewheel() {
    // Draw log-uniformly, so that short and long freewheels are equally frequent.
    let seconds = 0.05 * Double(1 << Int.random(in: 0...12, using: &dice)) * (1 + dice.fraction())
    let cycles = max(8, Int(seconds * Double(plan.sampleRate) / Double(plan.frames)))
    freewheel = Freewheel(left: cycles, isExport: Int.random(in: 0..<4, using: &dice) > 0)
    exports.count += 1
    exports.hours += Double(cycles) * Double(plan.frames) / Double(plan.sampleRate) / 3600
  }

  func endFreewheel() {
    if let export {
      exportComplaints += export.complaints.all
      exports.clicks += export.clicks
    }
    (freewheel, export) = (nil, nil)
    comeBack()
  }

  /// Does what a DAW does for an export: stops, locates, starts, and stops at the end.
  func advanceExport(_ state: SessionState) {
    guard var wheel = freewheel else { return }
    if wheel.isExport {
      switch (wheel.passed, wheel.left) {
      case (0..<Freewheel.margin, _):
        let places: [UInt32] = [
          0, 100_001, 0 &- plan.sampleRate, UInt32.random(in: 0..<UInt32.max, using: &dice),
        ]
        if wheel.passed == 0 {
          transport = Transport(state: .stopped, frame: places.randomElement(using: &dice) ?? 0)
          exportSession = state
        }
      case (Freewheel.margin..<2 * Freewheel.margin, _): transport.state = .starting
      case (_, 0...Freewheel.margin): transport.state = .stopped
      case (_, _):
        if export == nil {
          export = Export(
            beatMicros: Double(exportSession?.timeline.tempo.clamped.microsPerBeat ?? 1),
            sampleRate: plan.sampleRate, from: transport.frame)
        }
        transport.state = .rolling
      }
    }
    wheel.passed += 1
    wheel.left -= 1
    freewheel = wheel
  }

  func listenToExport(_ events: MIDIEvents) {
    for index in 0..<events.count { receiver.receive(events[index], at: driver.due) }
    guard export != nil, case .rolling = transport.state, let tempo = exportSession?.tempo else {
      return
    }
    for frame in 0..<Int(plan.frames) where click[frame] != 0 {
      export?.listen(at: Double(frame), driver.due)
    }
    export?.see(
      sync.bbt(nextFrame: transport.frame &+ plan.frames), beatsPerMinute: tempo, after: plan.frames,
      driver.due)
  }
}
