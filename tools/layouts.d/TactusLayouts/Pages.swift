// SPDX-License-Identifier: GPL-2.0-or-later

// The positions and sizes of all controls, in columns and rows of a grid. Each is large enough for a thumb
// that hits it without looking.
extension Layout {
  static let phone = Layout(
    name: "tactus-phone", title: "tactus for a phone, upright", width: 320, height: 568,
    pages: pages(within: Area(x: 0, y: 0, width: 320, height: 568 - tabBar), isWide: false))
  static let tablet = Layout(
    name: "tactus-tablet", title: "tactus for a tablet, lengthwise", width: 1024, height: 768,
    pages: pages(within: Area(x: 0, y: 0, width: 1024, height: 768 - tabBar), isWide: true))

  private static func pages(within area: Area, isWide: Bool) -> [Page] {
    [
      isWide ? widePlay(area) : narrowPlay(area), click(area, isWide: isWide), clock(area, isWide: isWide),
      session(area, isWide: isWide),
    ]
  }

  private static func narrowPlay(_ area: Area) -> Page {
    var page = Page(title: "PLAY")
    let at = Grid(area, columns: 8, rows: 14)
    page.label("tempo/str", at(0, 0, 5, 2), size: 44)
    page.label("peers/str", at(5, 0, 3, 1))
    page.label("link/str", at(5, 1, 3, 1))
    for beat in 1...8 {
      page.add("beat/\(beat)", "", at(Double(beat - 1), 2, 1, 1.5), beat == 1 ? .down : .beat)
    }
    page.add("phase", "", at(0, 3.5, 3, 2.5), .tempo)
    page.label("countin/str", at(0.75, 4, 1.5, 1.5), size: 34)
    page.label("position/bbt", at(3, 3.5, 5, 1.5), size: 26)
    page.label("position/time", at(3, 5, 5, 1), size: 18)
    page.add("start", "PLAY", at(0, 6, 4, 2), .go)
    page.add("stop", "STOP", at(4, 6, 4, 2), .stop)
    page.add("tempo/tap", "TAP", at(0, 8, 4, 2), .tempo)
    page.add("tempo/down", "-", at(4, 8, 2, 2), .tempo)
    page.add("tempo/up", "+", at(6, 8, 2, 2), .tempo)
    page.add("tempo/fader", "TEMPO", at(0, 10, 8, 1.5), .tempo)
    page.add("tempo/half", "/2", at(0, 11.5, 2, 1.5))
    page.add("tempo/double", "x2", at(2, 11.5, 2, 1.5))
    page.add("rewind", "|<", at(4, 11.5, 2, 1.5))
    page.add("click", "CLICK", at(6, 11.5, 2, 1.5), .switchedOn)
    page.label("error", at(0, 13, 8, 1), size: 12)
    return page
  }

  private static func widePlay(_ area: Area) -> Page {
    var page = Page(title: "PLAY")
    let at = Grid(area, columns: 16, rows: 14)
    page.label("tempo/str", at(0, 0, 6, 3), size: 96)
    page.label("position/bbt", at(6, 0, 6, 2), size: 56)
    page.label("position/time", at(6, 2, 6, 1), size: 28)
    page.label("peers/str", at(12, 0, 4, 1), size: 26)
    page.label("link/str", at(12, 1, 4, 1), size: 26)
    page.label("lead/str", at(12, 2, 4, 1), size: 26)
    for beat in 1...16 {
      page.add("beat/\(beat)", "", at(Double(beat - 1), 3, 1, 2), beat == 1 ? .down : .beat)
    }
    page.add("phase", "", at(0, 5, 4, 4), .tempo)
    page.label("countin/str", at(1, 6, 2, 2), size: 64)
    page.add("start", "PLAY", at(4, 5, 4, 4), .go)
    page.add("stop", "STOP", at(8, 5, 4, 4), .stop)
    page.add("tempo/tap", "TAP", at(12, 5, 4, 4), .tempo)
    page.add("tempo/fader", "TEMPO", at(0, 9, 12, 2), .tempo)
    page.add("tempo/down", "-", at(12, 9, 2, 2), .tempo)
    page.add("tempo/up", "+", at(14, 9, 2, 2), .tempo)
    page.add("rewind", "|<", at(0, 11, 2, 2))
    page.add("tempo/half", "/2", at(2, 11, 2, 2))
    page.add("tempo/double", "x2", at(4, 11, 2, 2))
    page.add("click", "CLICK", at(6, 11, 3, 2), .switchedOn)
    page.add("link", "ABLETON LINK", at(9, 11, 4, 2), .switchedOn)
    page.add("startstop", "START/STOP SYNC", at(13, 11, 3, 2), .switchedOn)
    page.label("status", at(0, 13, 8, 1), size: 20)
    page.label("error", at(8, 13, 8, 1), size: 20)
    return page
  }

  private static func click(_ area: Area, isWide: Bool) -> Page {
    var page = Page(title: "CLICK")
    let at = Grid(area, columns: 4, rows: 10)
    let size = isWide ? 28 : 16
    page.add("click", "CLICK", at(0, 0, 2, 1.5), .switchedOn)
    page.add("count/in", "COUNT-IN BARS", at(2, 0, 2, 1.5))
    page.add("click/when/always", "ALWAYS", at(0, 1.5, 2, 1.5))
    page.add("click/when/rolling", "ROLLING", at(2, 1.5, 2, 1.5))
    page.add("click/volume", "VOLUME", at(0, 3, 4, 1.5), .go)
    page.add("click/subdivision", "CLICKS IN A BEAT", at(0, 4.5, 4, 1.5))
    for (index, sound) in ["beep", "wood", "tick", "bell"].enumerated() {
      page.add("click/sound/\(sound)", sound.uppercased(), at(Double(index), 6, 1, 1.5))
    }
    page.label("click/pattern", at(0, 7.5, 4, 1), size: size, caption: "PATTERN")
    page.add("click/offset", "OFFSET ms", at(0, 8.5, 3, 1.5), range: -50...50)
    page.label("click/1/latency", at(3, 8.5, 1, 1.5), size: size, caption: "LATENCY")
    return page
  }

  private static func clock(_ area: Area, isWide: Bool) -> Page {
    var page = Page(title: "CLOCK")
    let at = Grid(area, columns: 6, rows: 10)
    let size = isWide ? 28 : 16
    page.add("clock", "MIDI CLOCK", at(0, 0, 3, 2), .switchedOn)
    page.add("clock/when/always", "ALWAYS", at(3, 0, 1.5, 2))
    page.add("clock/when/rolling", "ROLLING", at(4.5, 0, 1.5, 2))
    page.add("clock/offset", "CLOCK OFFSET ms", at(0, 2, 5, 1.5), range: -50...50)
    page.label("clock/latency", at(5, 2, 1, 1.5), size: size, caption: "LATENCY")
    page.add("pulse", "PULSES", at(0, 4, 6, 1.5), .switchedOn)
    for (index, rate) in ["bar", "1", "2", "4", "24", "48"].enumerated() {
      page.add("pulse/rate/\(rate)", rate.uppercased(), at(Double(index), 5.5, 1, 1.5))
    }
    page.add("pulse/offset", "PULSE OFFSET ms", at(0, 7, 6, 1.5), range: -50...50)
    page.label("drift", at(0, 8.5, 2, 1.5), size: size, caption: "DRIFT ppm")
    page.label("launch/error", at(2, 8.5, 2, 1.5), size: size, caption: "LAUNCH ms")
    page.label("jack/lost", at(4, 8.5, 2, 1.5), size: size, caption: "LOST CYCLES")
    return page
  }

  private static func session(_ area: Area, isWide: Bool) -> Page {
    var page = Page(title: "LINK")
    let at = Grid(area, columns: 12, rows: 10)
    let size = isWide ? 28 : 16
    page.add("link", "ABLETON LINK", at(0, 0, 6, 1.5), .switchedOn)
    page.add("startstop", "START/STOP SYNC", at(6, 0, 6, 1.5), .switchedOn)
    page.label("link/str", at(0, 1.5, 6, 1), size: size)
    page.label("peers/str", at(6, 1.5, 6, 1), size: size)
    for (index, launch) in ["now", "beat", "bar"].enumerated() {
      page.add("launch/\(launch)", "START \(launch.uppercased())", at(Double(index) * 4, 2.5, 4, 1.5))
    }
    for (index, lead) in ["link", "host", "auto", "midi"].enumerated() {
      page.add("lead/\(lead)", "LEAD \(lead.uppercased())", at(Double(index) * 3, 4, 3, 1.5))
    }
    page.add("jack/timebase", "TIMEBASE", at(0, 5.5, 4, 1.5), .switchedOn)
    page.add("takeover", "TAKE OVER", at(4, 5.5, 4, 1.5), .stop)
    page.label("jack/timebase/str", at(8, 5.5, 4, 1.5), size: size, caption: "TIMEBASE MASTER")
    page.add("quantum", "QUANTUM", at(0, 7, 12, 1.5), range: 1...16, inWholeSteps: true)
    page.label("message", at(0, 8.5, 12, 0.75), size: isWide ? 24 : 12)
    page.label("error", at(0, 9.25, 12, 0.75), size: isWide ? 24 : 12)
    return page
  }
}
