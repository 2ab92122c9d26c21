-- SPDX-License-Identifier: GPL-2.0-or-later
-- Runs a layout's script as TouchOSC does, one minute at 60 frames a second, and prints what it sends.
local now = 0
function getMillis() return now end
function sendOSC(...) print(now, ...) end
dofile(arg[1])
for frame = 0, 3600 do
  now = frame * 1000 // 60
  update()
end
onReceiveOSC({ "/tactus/tempo", { { tag = "f", value = 120 } } }, {})
onReceiveOSC({ "/tactus/proof", { { tag = "s", value = "abc123" } } }, {})
