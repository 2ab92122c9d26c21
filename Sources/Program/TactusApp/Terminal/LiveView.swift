// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import Link
import LinkBeatMath
import LinkSystem
import Synchronization
import TactusOSC
import TactusSurface
import TactusTerminal

/// The terminal view, live: a thread draws the state thirty times a second and at every beat, and passes keys
/// on to the control surface.
///
/// The view has a thread of its own: the shown beat must not wait for a JACK server that has died or for the
/// control thread, and no other thread may wait for a slow terminal. The view is on the screen only while the
/// program is in the terminal's foreground. In the background it draws and reads nothing, and lines are
/// printed as text again. If the view reads in the background by mistake, the read fails and does not stop
/// the program, because the thread blocks signals.
final class LiveView: Sendable {
  private enum SuspendState {
    case off, asked, on
  }

  private struct State {
    var news: News?
    var earlier: News?
    var isClosing = false
    var cover = SuspendState.off
    var thread: Thread?
  }

  /// How often `cover` checks, every 5 ms, whether the view has left the screen. The limit lets the program
  /// stop even if the terminal hangs.
  private static let longestCover = 100

  fileprivate let desk: any StateSource
  fileprivate let keys: KeyMap
  // Only the view's thread uses the device as soon as that thread runs.
  nonisolated(unsafe) fileprivate let device: TerminalDevice
  private let held = Mutex(State())

  /// Prepares the view; nil: there is no terminal to draw on.
  init?(of desk: any StateSource, keys: KeyMap) {
    guard Self.isPossible, let device = TerminalDevice() else { return nil }
    self.desk = desk
    self.keys = keys
    self.device = device
  }

  /// Whether standard output is a terminal that can move its cursor.
  private static var isPossible: Bool {
    guard isatty(STDOUT_FILENO) == 1, let term = Environment.text("TERM") else { return false }
    return term != "dumb"
  }

  /// Starts the thread. From now on, lines go to the view. [control]
  func open() {
    guard held.withLock({ $0.thread == nil }) else { return }
    // Divert the lines here and not on the view's thread, so that even a line right after this call goes
    // to the view.
    if device.isOurs { listen() }
    try? desk.news.open()
    let thread = try? Thread("view") { [self] in RenderLoop(self).run() }
    held.withLock { $0.thread = thread }
    if thread == nil { Console.divert(nil) }
  }

  /// Ends the thread. When this returns, the terminal is as it was before `open`.
  func close() {
    let thread = held.withLock { held in
      held.isClosing = true
      defer { held.thread = nil }
      return held.thread
    }
    thread?.join()
  }

  /// Leaves the screen until `uncover`. When this returns, the terminal is as it was before `open`. [control]
  func cover() {
    held.withLock { $0.cover = .asked }
    for _ in 0..<Self.longestCover {
      guard held.withLock({ $0.thread != nil && $0.cover == .asked }) else { return }
      usleep(5_000)
    }
  }

  func uncover() { held.withLock { $0.cover = .off } }

  func tell(_ text: String, isComplaint: Bool) {
    // The view has one line for messages, so show the last line.
    let line = text.split(separator: "\n").last.map(String.init) ?? ""
    held.withLock { held in
      held.earlier = held.news
      held.news = News(line, at: Link.clock(), isComplaint: isComplaint)
    }
    desk.news.signal()
  }

  fileprivate func listen() {
    Console.divert { [self] in tell($0, isComplaint: $1) }
  }

  fileprivate var isCovered: Bool { held.withLock { $0.cover != .off } }
  fileprivate func confirmCover() { held.withLock { $0.cover = .on } }
  fileprivate var isClosing: Bool { held.withLock { $0.isClosing } }
  fileprivate var news: (last: News?, earlier: News?) { held.withLock { ($0.news, $0.earlier) } }

  /// Whether the program was stopped and continued since the last call.
  fileprivate static func wasStopped() -> Bool {
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, SIGCONT)
    var now = timespec()
    return sigtimedwait(&set, nil, &now) == SIGCONT
  }
}

/// The state that only the view's thread uses.
private final class RenderLoop {
  /// Intervals in microseconds: between two pictures (a thirtieth of a second), and between two checks of a
  /// hidden view whether it is visible.
  private static let tick: Int64 = 33_333
  private static let nap: Int64 = 200_000
  /// How often the addresses of this machine are looked up: they can change at any time.
  private static let reachInterval = Micros(2_000_000)
  /// The time after a key during which every change is drawn as soon as it happens.
  private static let curiosity = Micros(100_000)

  private let live: LiveView
  private let device: TerminalDevice
  private let errors = StderrCapture()
  private let view: TerminalView
  private var frame: Frame
  private var reader = KeyReader()
  private var keyboard: Keyboard
  private var pressed = Micros.zero
  private var reach = Reach.closed
  private var endpoints: [Endpoint] = []
  private var nextReach = Micros.zero
  private var isGone = false

  init(_ live: LiveView) {
    self.live = live
    device = live.device
    view = TerminalView(glyphs: Environment.isUTF8 ? .unicode : .ascii, keys: live.keys)
    keyboard = Keyboard(live.keys)
    frame = Frame(coloured: Environment.text("NO_COLOR") == nil)
  }

  func run() {
    while !live.isClosing, !isGone {
      heedContinuation()
      if live.isCovered {
        leave()
        live.confirmCover()
      } else if device.isOurs {
        if !device.isEntered { enter() }
        draw()
      } else if device.isEntered {
        // The program was put into the background, and the terminal already belongs to another program.
        device.yield()
        stopListening()
      }
      wait()
    }
    leave()
  }

  private func enter() {
    device.enterScreen()
    frame.forget()
    errors.divert()
    live.listen()
  }

  private func leave() {
    device.leaveScreen()
    stopListening()
  }

  private func stopListening() {
    Console.divert(nil)
    errors.restore()
  }

  /// If a signal such as SIGSTOP stopped the program without warning, the shell has set the terminal's
  /// modes and screen: enter the view's screen again.
  private func heedContinuation() {
    guard LiveView.wasStopped(), device.isEntered else { return }
    device.yield()
    stopListening()
  }

  private func draw() {
    let now = Link.clock()
    let endpoints = live.desk.endpoints
    if now >= nextReach || endpoints != self.endpoints {
      nextReach = now + Self.reachInterval
      self.endpoints = endpoints
      reach = live.desk.reach
    }
    device.flush()
    guard device.isReady else { return }
    var scene = Scene(state: live.desk.state, now: now)
    (scene.news, scene.earlierNews) = live.news
    scene.page = keyboard.page
    scene.typed = keyboard.typed(at: now)
    scene.isTuning = keyboard.isTuning(at: now)
    scene.reach = reach
    scene.pairingCode = live.desk.pairingCode
    scene.place = live.desk.place
    frame.draw(view.picture(of: scene, size: device.size))
    device.write(frame.bytes)
  }

  /// Waits for the time of the next picture, the next beat, a key or a line.
  private func wait() {
    let now = Link.clock()
    var until = now.count + Self.nap
    if device.isEntered {
      until = min((now.count / Self.tick + 1) * Self.tick, nextBeat(after: now).count)
      if let deadline = reader.deadline { until = min(until, deadline.count) }
    }
    // Keys stay unread in the terminal until they would have an effect.
    let takesKeys = device.isEntered && live.desk.takesKeys
    let isCurious = now - pressed < Self.curiosity
    var watched = [
      pollfd(fd: takesKeys ? device.descriptor : -1, events: Int16(POLLIN), revents: 0),
      pollfd(fd: errors.descriptor, events: Int16(POLLIN), revents: 0),
      pollfd(fd: isCurious ? live.desk.news.descriptor : -1, events: Int16(POLLIN), revents: 0),
    ]
    LinkSystem.wait(for: &watched, from: now, until: Micros(until))
    let then = Link.clock()
    if watched[0].revents != 0 { readKeys(at: then) }
    if watched[1].revents != 0, let text = errors.drain() { live.tell(text, isComplaint: true) }
    if watched[2].revents != 0 { live.desk.news.drain() }
    if let key = reader.pause(at: then) { press(key, at: then) }
  }

  private func nextBeat(after now: Micros) -> Micros {
    let state = live.desk.state
    let time = state.time(atSessionBeats: state.nextShownNote(after: now))
    // Wait at least 1 ms: rounding could otherwise make the loop spin.
    return max(time + Micros(1), now + Micros(1000))
  }

  private func readKeys(at now: Micros) {
    switch device.read() {
    case .bytes(let bytes):
      for byte in bytes {
        if let key = reader.read(byte, at: now) { press(key, at: now) }
      }
    case .nothing: break
    // The terminal is gone: only the view ends. If the program has to end as well, a signal says so.
    case .gone: isGone = true
    }
  }

  private func press(_ key: Key, at now: Micros) {
    pressed = now
    let state = live.desk.state
    switch keyboard.press(key, state, at: now) {
    case .press(let targets):
      live.desk.press(targets, at: now)
      let remark = Keyboard.remark(targets, by: key, state, isKept: live.desk.place == nil)
      if let remark { live.tell(remark, isComplaint: false) }
    case .redraw: frame.forget()
    case .say(let text): live.tell(text, isComplaint: true)
    case .leave: Signals.end()
    case nil: break
    }
  }
}
