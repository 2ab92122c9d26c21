# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Sourced after clean.sh: plays the scene beside this file in a Debian with tactus installed, and judges it.
#
#   play_scene NAME FOLDER   the sources of the project are in FOLDER/build/source; prints the figures

play_scene() {
  local name=$1 clean=$2 seen=$2/root/seen server words wrong off
  quietly inside "$clean" /build/source/tools/listen --build || die "tools/listen does not compile in $name"
  timeout --kill-after=5 480 unshare --net --mount --pid --fork --kill-child env -i "$(command -v chroot)" "$clean" /bin/bash \
    /build/source/tools/package.d/scene >"$seen" 2>&1 </dev/null || true
  for server in PipeWire jackd; do
    for words in joined "the page answers" "the doctor has fetched it" "the peer is in the session" "the peer has started it" \
      "the peer's tempo is taken" status ended; do
      grep -qxF "$server: $words" "$seen" || die "$name: no \"$server: $words\" in $(cat "$seen")"
    done
    passed "$name, $server: the page answers, the doctor has fetched it, a peer starts it and sets its tempo"
    grep "^(${server}[:,].*; [-+]\|^($server, .*started on" "$seen" || die "$name, $server: no click was heard in $(cat "$seen")"
  done
  [ -n "$(inside "$clean" sh -c 'command -v ardour')" ] || passed "not judged: Ardour, which $name cannot install today"
  wrong=$(grep "Ardour's starts on a bar" "$seen" | grep -v '3 of 3') || true
  wrong+=$(grep "starts at .* frames on a bar" "$seen" | grep -v '4 of 4') || true
  [ -z "$wrong" ] || die "$name: $wrong in $(cat "$seen")"
  # The bounds are those of tools/first-minutes: a busy machine may be late, and a defect is larger. A start one period early is 5.3 ms
  # off at 256 frames. Of each port of tactus, and of the starts at each period, the median counts. Ardour's click is printed and not
  # judged: a period that jackd loses moves it until its next start.
  off=$(sed -nE -e 's/^\(([^;]*): [0-9]+ (onsets|MIDI clocks) .*; ([-+][0-9.]+) ms from the session.*/\1|\3/p' \
    -e 's/^\((.* frames): .* started on a bar, ([-+][0-9.]+) ms from it.*/\1, starts|\2/p' "$seen" | grep -v ardour: | sort -t '|' -k 1,1 -k 2,2g |
    awk -F '|' '{ n[$1]++; off[$1, n[$1]] = $2 + 0 } END { for (what in n) { m = off[what, int((n[what] + 1) / 2)]; if (m > 3 || m < -3) print what ": " m } }')
  [ -z "$off" ] || die "$name: milliseconds from the beat: $off in $(cat "$seen")"
}
