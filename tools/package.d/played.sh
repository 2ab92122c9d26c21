# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Sourced after clean.sh: plays the script `scene` of this folder in a Debian that has tactus installed, and
# judges its output. The sources of the project are in FOLDER/build/source.
#
#   act FOLDER SERVER [minutes]         plays the scene on PipeWire or jackd; its output is in FOLDER/root/seen.SERVER
#   first_steps NAME FOLDER             plays first-steps on both servers, and prints how soon the first click is heard
#   judge_minutes NAME FOLDER SERVER    judges the parts without a peer
#   play_scene NAME FOLDER              plays and judges everything, on both servers at once; prints the figures

# bring FOLDER PLACE PACKAGE: makes `clean`, an overlay of the Debian in FOLDER, with the package and the
# scenes.
bring() {
  over "$1" "$2"
  cp "$3" "$clean/tmp/tactus.deb"
  mkdir -p "$clean/build/source"
  # shellcheck disable=SC2154 # packages.sh sets it
  tar -C "$root" --exclude=tools/.venv --exclude=__pycache__ -cf - tools | tar -x -C "$clean/build/source"
}

act() { enact "$1" scene "${@:2}"; }

# enact FOLDER SCRIPT SERVER [WORD...]: runs SCRIPT in the Debian in FOLDER, and writes its output to
# FOLDER/root/seen.SERVER.
enact() {
  setpriv --pdeathsig TERM timeout --kill-after=5 480 unshare --net --mount --pid --fork --kill-child env -i "$(command -v chroot)" "$1" /bin/bash \
    "/build/source/tools/package.d/$2" "${@:3}" >"$1/root/seen.$3" 2>&1 </dev/null || true
}

first_steps() {
  local server players=()
  # shellcheck disable=SC2154 # packages.sh sets it
  cc -O2 -o "$2/build/first_sound" "$tools/native/first_sound.c" -ljack
  for server in jackd PipeWire; do
    enact "$2" first-steps "$server" &
    players+=("$!")
  done
  wait "${players[@]}"
  for server in jackd PipeWire; do
    grep -q "^$server: the first click at step 2, " "$2/root/seen.$server" ||
      die "$1, $server: no first click in two steps in $(cat "$2/root/seen.$server")"
    sed -n "s/^$server: the first click/$1, &/p" "$2/root/seen.$server"
  done
}

# demand NAME FOLDER SERVER WORDS...: requires that the scene has printed each of WORDS as a line.
demand() {
  local name=$1 seen=$2/root/seen.$3 server=$3 words
  for words in "${@:4}"; do
    grep -qxF "$server: $words" "$seen" || die "$name: no \"$server: $words\" in $(cat "$seen")"
  done
}

judge_minutes() {
  demand "$@" joined "the page answers" "the doctor has fetched it" status ended
  passed "$1, $3: the page answers, the doctor has fetched it"
}

# visit NAME FOLDER SCENE: tests the page in this machine's Chromium, driven by the lab's browser driver, in
# the network of the scene that the process SCENE plays on PipeWire. The Debian has no Chromium, because that
# would make it larger by a third.
visit() {
  local name=$1 seen=$2/root/seen.PipeWire process=$3 folder
  if ! command -v chromium >/dev/null; then
    passed "not judged: the page in a browser: this machine has no Chromium"
    return
  fi
  need_venv
  for _ in $(seq 300); do
    ! grep -qx "PipeWire: the page answers" "$seen" || break
    sleep 0.2
  done
  for _ in timeout unshare scene; do process=$(pgrep --parent "$process" | head -n 1); done
  folder=$(mktemp -d)
  touch "$folder/host-1" # what the driver takes for a lab
  # shellcheck disable=SC2154 # packages.sh sets it
  printf '%s\n' 'open http://127.0.0.1:20880/' "until \"document.body.dataset.connection === 'live'\" 20" \
    "until \"document.querySelector('#peers').textContent === '1 Link'\" 20" |
    LAB_DIR=$folder timeout 90 nsenter --target "$process" --net "$tools/lab" peer browser >"$folder/said" 2>&1 || true
  [ "$(grep -c '"ok": true' "$folder/said")" = 3 ] || die "$name: the page in Chromium: $(cat "$folder/said")"
  rm -rf --one-file-system "$folder"
  passed "$name: in Chromium the page is live and shows the peer"
}

play_scene() {
  local name=$1 clean=$2 server wrong off pipewire jackd page
  quietly inside "$clean" /build/source/tools/listen --build || die "tools/listen does not compile in $name"
  act "$clean" PipeWire &
  pipewire=$!
  act "$clean" jackd &
  jackd=$!
  visit "$name" "$clean" "$pipewire" &
  page=$!
  wait "$pipewire" "$jackd"
  wait "$page" || exit 1
  for server in PipeWire jackd; do
    demand "$name" "$clean" "$server" joined "the page answers" "the doctor has fetched it" "the peer is in the session" "the peer has started it" \
      "the peer's tempo is taken" status ended "the count-in has four bars"
    passed "$name, $server: the page answers, the doctor has fetched it, a peer starts it and sets its tempo, a count-in has four bars"
    grep "^(${server}[:,]" "$clean/root/seen.$server" || die "$name, $server: nothing was heard in $(cat "$clean/root/seen.$server")"
  done
  demand "$name" "$clean" PipeWire "tactus is back behind its restart"
  passed "$name: tactus goes on behind a restart of PipeWire"
  judge_programs "$name" "$clean"
  # The limits are those of tools/first-minutes: larger than the lateness of a busy machine, smaller than a
  # defect. A start that is one period early is 5.3 ms off at 256 frames. For each port of tactus, and for the
  # starts at each period, the median counts. A DAW's sound must only be on the right beat, because a period
  # that the server loses delays the sound until the DAW's next start.
  off=$(sed -nE -e 's/^\(([^;]*): [0-9]+ (onsets|MIDI clocks) .*; ([-+][0-9.]+) ms from the session.*/\1|\3/p' \
    -e 's/^\((.* frames): .* started on a bar, ([-+][0-9.]+) ms from it.*/\1, starts|\2/p' "$clean"/root/seen.{PipeWire,jackd} |
    sort -t '|' -k 1,1 -k 2,2g | awk -F '|' '
      { n[$1]++; off[$1, n[$1]] = $2 + 0 }
      END { for (what in n) { m = off[what, int((n[what] + 1) / 2)]; most = what ~ /tactus:|starts/ ? 3 : 60; if (m > most || m < -most) print what ": " m } }')
  [ -z "$off" ] || die "$name: milliseconds from the beat: $off in $(cat "$clean"/root/seen.*)"
}

# Judges the DAWs that follow: in each line such as "3 of 3" that the scene printed, both numbers must be
# equal.
judge_programs() {
  local name=$1 clean=$2 program wrong
  for program in ardour hydrogen qtractor; do
    [ -n "$(inside "$clean" sh -c "command -v $program")" ] || passed "not judged: $program, which $name cannot install today"
  done
  wrong=$(sed -nE '/: [0-9]+ of [0-9]+$/ { /: ([0-9]+) of \1$/! p }' "$clean"/root/seen.{PipeWire,jackd})
  [ -z "$wrong" ] || die "$name: $wrong in $(cat "$clean"/root/seen.*)"
  passed "$name: $(sed -nE 's/^(PipeWire|jackd): (.*) of [0-9]+$/\1: \2/p' "$clean"/root/seen.{PipeWire,jackd} | tr '\n' ';')"
}
