// SPDX-License-Identifier: GPL-2.0-or-later

/// The page as it lies in `Page`: those files and no others, embedded in the program (Package.swift names them, too).
enum PageFiles {
  private static let scripts: [(name: String, bytes: [UInt8])] = [
    ("/app.js", PackageResources.app_js),
    ("/awake.js", PackageResources.awake_js),
    ("/click.js", PackageResources.click_js),
    ("/clock.js", PackageResources.clock_js),
    ("/controls.js", PackageResources.controls_js),
    ("/desk.js", PackageResources.desk_js),
    ("/device.js", PackageResources.device_js),
    ("/hands.js", PackageResources.hands_js),
    ("/look.js", PackageResources.look_js),
    ("/pairing.js", PackageResources.pairing_js),
    ("/pattern.js", PackageResources.pattern_js),
    ("/play.js", PackageResources.play_js),
    ("/sections.js", PackageResources.sections_js),
    ("/session.js", PackageResources.session_js),
    ("/socket.js", PackageResources.socket_js),
    ("/tabs.js", PackageResources.tabs_js),
    ("/trouble.js", PackageResources.trouble_js),
  ]

  private static let files: [String: (type: String, bytes: [UInt8])] = {
    var files: [String: (type: String, bytes: [UInt8])] = [
      "/": ("text/html; charset=utf-8", PackageResources.index_html),
      "/style.css": ("text/css; charset=utf-8", PackageResources.style_css),
      "/icon.svg": ("image/svg+xml", PackageResources.icon_svg),
      "/awake.mp4": ("video/mp4", PackageResources.awake_mp4),
    ]
    for script in scripts { files[script.name] = ("text/javascript; charset=utf-8", script.bytes) }
    return files
  }()

  static func response(_ path: String) -> Response? {
    guard let file = files[path] else { return nil }
    var response = Response(200)
    response.type = file.type
    response.body = file.bytes
    return response
  }
}
