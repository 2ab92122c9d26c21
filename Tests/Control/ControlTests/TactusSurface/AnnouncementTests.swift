// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusOSC
import Testing

@testable import TactusSurface

@Suite("Announcements by mDNS", .serialized)
struct AnnouncementTests {
  /// Makes a fake Avahi command, which records its arguments and its process id and then keeps running.
  private func fakeAvahi(_ folder: String) throws -> String {
    mkdir(folder, 0o700)
    let path = "\(folder)/avahi-publish"
    let file = try #require(fopen(path, "w"))
    fputs("#!/bin/sh\nprintf '%s|' \"$@\" >\(folder)/$4.new\necho $$ >>\(folder)/$4.new\n", file)
    fputs("mv \(folder)/$4.new \(folder)/$4\nexec sleep 1000\n", file)
    fclose(file)
    chmod(path, 0o700)
    return path
  }

  private func contents(_ path: String) -> String? {
    guard let file = fopen(path, "r") else { return nil }
    defer { fclose(file) }
    var buffer = [CChar](repeating: 0, count: 4096)
    guard fgets(&buffer, 4096, file) != nil else { return nil }
    return String(
      decoding: buffer.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  private func settings(_ command: String) -> SurfaceSettings {
    var settings = SurfaceSettings.loopback
    settings.listen = [Endpoint(Address.v4(0), port: 0)]
    settings.serviceName = "tactus on \"stage\" $HOME"
    settings.announcer = command
    return settings
  }

  @Test
  func `OSC, OSCQuery and the page are announced by mDNS until tactus ends`()
    throws
  {
    let folder = "/tmp/tactus-avahi-\(getpid())"
    let studio = try Studio(settings(try fakeAvahi(folder)))
    defer { studio.close() }
    studio.surface.tell(WebReach(queryPort: 8080, pagePort: 80))
    let files = ["_osc._udp", "_oscjson._tcp", "_http._tcp"]
    #expect(studio.wait { files.allSatisfy { contents("\(folder)/\($0)") != nil } })
    let page = contents("\(folder)/_http._tcp") ?? ""
    let osc = contents("\(folder)/_osc._udp") ?? ""
    let query = contents("\(folder)/_oscjson._tcp") ?? ""
    let name = "tactus on \"stage\" $HOME"
    #expect(osc.hasPrefix("-f|-s|\(name)|_osc._udp|\(studio.port)|txtvers=1|version=1.1|types=ifsTFhdNI|"))
    #expect(query.hasPrefix("-f|-s|\(name)|_oscjson._tcp|8080|txtvers=1|"))
    #expect(page.hasPrefix("-f|-s|\(name)|_http._tcp|80|path=/|"))
    studio.close()
    for line in [osc, query, page] {
      let process = pid_t(line.split(separator: "|").last ?? "") ?? 0
      #expect(process > 1 && studio.wait { kill(process, 0) != 0 })
    }
    for file in files + ["avahi-publish"] { unlink("\(folder)/\(file)") }
    rmdir(folder)
  }

  @Test
  func `without Avahi, controllers can be used all the same`() throws {
    let studio = try Studio(settings("/nowhere/avahi-publish"))
    defer { studio.close() }
    studio.surface.tell(WebReach(queryPort: 8080))
    let controller = try OtherController(.pythonosc, for: studio.port)
    controller.send("/tactus/click i:1")
    #expect(studio.wait { studio.commands == [.set("click", .flag(true))] })
    let missing = Notice.missing("not announced: /nowhere/avahi-publish is not installed")
    #expect(studio.wait { studio.notices.contains(missing) })
    #expect(studio.notices.count { $0 == missing } == 1, "for both services once")
  }

  @Test
  func `the mDNS name of a service fits into 63 bytes`() {
    #expect(Announcement.shortened(String(repeating: "ä", count: 60)).utf8.count == 62)
    #expect(Announcement.shortened("a\nb") == "a?b")
  }
}
