// SPDX-License-Identifier: GPL-2.0-or-later
// Every file for the browser, as it is in Sources/Control/TactusWeb/Page. This is C code, because the C
// compiler embeds a file at once and rebuilds when the file changes. SwiftPM's own way took twenty seconds of
// each build.
#include "CPage.h"

static const unsigned char index_html[] = {
#embed "../../Control/TactusWeb/Page/index.html"
};
static const unsigned char style_css[] = {
#embed "../../Control/TactusWeb/Page/style.css"
};
static const unsigned char icon_svg[] = {
#embed "../../Control/TactusWeb/Page/icon.svg"
};
static const unsigned char awake_mp4[] = {
#embed "../../Control/TactusWeb/Page/awake.mp4"
};
static const unsigned char app_js[] = {
#embed "../../Control/TactusWeb/Page/app.js"
};
static const unsigned char awake_js[] = {
#embed "../../Control/TactusWeb/Page/awake.js"
};
static const unsigned char click_js[] = {
#embed "../../Control/TactusWeb/Page/click.js"
};
static const unsigned char clock_js[] = {
#embed "../../Control/TactusWeb/Page/clock.js"
};
static const unsigned char controls_js[] = {
#embed "../../Control/TactusWeb/Page/controls.js"
};
static const unsigned char desk_js[] = {
#embed "../../Control/TactusWeb/Page/desk.js"
};
static const unsigned char device_js[] = {
#embed "../../Control/TactusWeb/Page/device.js"
};
static const unsigned char hands_js[] = {
#embed "../../Control/TactusWeb/Page/hands.js"
};
static const unsigned char look_js[] = {
#embed "../../Control/TactusWeb/Page/look.js"
};
static const unsigned char named_js[] = {
#embed "../../Control/TactusWeb/Page/named.js"
};
static const unsigned char pattern_js[] = {
#embed "../../Control/TactusWeb/Page/pattern.js"
};
static const unsigned char play_js[] = {
#embed "../../Control/TactusWeb/Page/play.js"
};
static const unsigned char sections_js[] = {
#embed "../../Control/TactusWeb/Page/sections.js"
};
static const unsigned char session_js[] = {
#embed "../../Control/TactusWeb/Page/session.js"
};
static const unsigned char socket_js[] = {
#embed "../../Control/TactusWeb/Page/socket.js"
};
static const unsigned char songs_js[] = {
#embed "../../Control/TactusWeb/Page/songs.js"
};
static const unsigned char tabs_js[] = {
#embed "../../Control/TactusWeb/Page/tabs.js"
};
static const unsigned char trouble_js[] = {
#embed "../../Control/TactusWeb/Page/trouble.js"
};

#define SCRIPT "text/javascript; charset=utf-8"

static const struct page_file files[] = {
  {"/", "text/html; charset=utf-8", index_html, sizeof index_html},
  {"/style.css", "text/css; charset=utf-8", style_css, sizeof style_css},
  {"/icon.svg", "image/svg+xml", icon_svg, sizeof icon_svg},
  {"/awake.mp4", "video/mp4", awake_mp4, sizeof awake_mp4},
  {"/app.js", SCRIPT, app_js, sizeof app_js},
  {"/awake.js", SCRIPT, awake_js, sizeof awake_js},
  {"/click.js", SCRIPT, click_js, sizeof click_js},
  {"/clock.js", SCRIPT, clock_js, sizeof clock_js},
  {"/controls.js", SCRIPT, controls_js, sizeof controls_js},
  {"/desk.js", SCRIPT, desk_js, sizeof desk_js},
  {"/device.js", SCRIPT, device_js, sizeof device_js},
  {"/hands.js", SCRIPT, hands_js, sizeof hands_js},
  {"/look.js", SCRIPT, look_js, sizeof look_js},
  {"/named.js", SCRIPT, named_js, sizeof named_js},
  {"/pattern.js", SCRIPT, pattern_js, sizeof pattern_js},
  {"/play.js", SCRIPT, play_js, sizeof play_js},
  {"/sections.js", SCRIPT, sections_js, sizeof sections_js},
  {"/session.js", SCRIPT, session_js, sizeof session_js},
  {"/socket.js", SCRIPT, socket_js, sizeof socket_js},
  {"/songs.js", SCRIPT, songs_js, sizeof songs_js},
  {"/tabs.js", SCRIPT, tabs_js, sizeof tabs_js},
  {"/trouble.js", SCRIPT, trouble_js, sizeof trouble_js},
};

const struct page_file *page_file_at(size_t number) {
  return number < sizeof files / sizeof files[0] ? &files[number] : NULL;
}
