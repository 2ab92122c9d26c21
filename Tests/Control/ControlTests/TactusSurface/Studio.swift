// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkBeatMath
import Synchronization
import TactusOSC
import TactusTestSupport

@testable import TactusSurface

/// A surface with real sockets on loopback, and a simulated program.
final class Studio: Sendable {
  let surface: OSCSurface

  struct Shelf {
    var program = FakeProgram()
    var orders: [Order] = []
    var notices: [Notice] = []
    var surface: OSCSurface?
  }

  private final class Box: Sendable {
    let shelf = Mutex(Shelf())
  }

  private let box: Box

  init(_ settings: SurfaceSettings = .loopback) throws {
    let box = Box()
    self.box = box
    let start = Timeline(tempo: Tempo(120), beatOrigin: .zero, timeOrigin: Clocks.read().host)
    box.shelf.withLock { $0.program.state.timeline = start }
    surface = try OSCSurface(
      settings, state: box.shelf.withLock { $0.program.state },
      notice: { notice in box.shelf.withLock { $0.notices.append(notice) } },
      handler: { order in
        let (verdict, state, surface) = box.shelf.withLock { shelf in
          shelf.orders.append(order)
          return (shelf.program.obey(order), shelf.program.state, shelf.surface)
        }
        surface?.update { $0 = state }
        return verdict
      })
    let opened = surface
    box.shelf.withLock { $0.surface = opened }
  }

  /// Closes the surface, which ends the cycle of references.
  func close() {
    surface.close()
    box.shelf.withLock { $0.surface = nil }
  }

  var port: Int { Int(surface.endpoints[0].port) }
  var state: SurfaceState { box.shelf.withLock { $0.program.state } }
  var commands: [Command] { box.shelf.withLock { $0.program.commands } }
  var orders: [Order] { box.shelf.withLock { $0.orders } }
  var notices: [Notice] { box.shelf.withLock { $0.notices } }

  func change(_ change: (inout SurfaceState) -> Void) {
    let state = box.shelf.withLock { shelf in
      change(&shelf.program.state)
      return shelf.program.state
    }
    surface.update { $0 = state }
  }

  /// Makes the transport roll when the time of its waiting start has come.
  func launch() {
    let state = box.shelf.withLock { shelf in
      shelf.program.launchIfDue(at: Clocks.read().host)
      return shelf.program.state
    }
    surface.update { $0 = state }
  }

  /// Waits until the condition holds. The limit is generous, because no test judges how long this takes.
  func wait(seconds: Double = 20, until isTrue: () -> Bool) -> Bool {
    let end = ContinuousClock.now + .seconds(seconds)
    while !isTrue() {
      guard ContinuousClock.now < end else { return false }
      launch()
      usleep(2000)
    }
    return true
  }
}

extension SurfaceSettings {
  static var loopback: SurfaceSettings {
    var settings = SurfaceSettings()
    settings.listen = [Endpoint(.loopback, port: 0)]
    settings.version = "test"
    return settings
  }
}

/// A controller made with another OSC library.
final class OtherController {
  enum Library: String, CaseIterable, Sendable { case pythonosc, pyliblo3 }

  let child: ChildProcess
  let port: Int
  let surfacePort: Int

  init(_ library: Library, for surfacePort: Int) throws {
    child = try ChildProcess([
      Lab.python, Lab.top + "/Tests/Control/ControlTests/TactusSurface/peers/osc_peer.py", library.rawValue,
    ])
    let first = try child.line(within: .seconds(60)) ?? ""
    port = Int(first.split(separator: " ").last ?? "") ?? 0
    self.surfacePort = surfacePort
  }

  func send(_ message: String) { child.send("127.0.0.1 \(surfacePort) \(message)") }
  func sendBundle(in seconds: Double, _ message: String) {
    child.send("bundle \(seconds) 127.0.0.1 \(surfacePort) \(message)")
  }

  /// The next line that begins with this text; skips at most `limit` other lines.
  func receive(_ beginning: String, limit: Int = 2000) throws -> String? {
    for _ in 0..<limit {
      guard let line = try child.line(within: .seconds(20)) else { return nil }
      if line == beginning || line.hasPrefix(beginning + " ") { return line }
    }
    return nil
  }
}
