# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Sourced by the start scripts of the sessions beside it. `tactus session start NAME` runs those; they work alone, too.
#
#   needs PROGRAM PACKAGE    ends with a line that says what to install, if there is no such program
#   wishes PROGRAM WORDS     says what to install if one of JACK's small programs is missing, and WORDS, what is wrong without it
#   own FILE                 a copy of the session's file among the musician's own, made at the first start: its path; ends the start
#                            if it cannot be made, so assign the path before it is used
#   beside COMMAND...        starts a program beside tactus, in the background, or joins the one that the last start left open or that
#                            JACK knows already; it stays open when tactus ends, and tactus says when it has ended itself. JACK's name
#                            for the program is the command's, in any case of letters, unless client=NAME says otherwise
#   new_to_ardour            Ardour preferences for JACK, if there are none of any kind yet
#   output_latency           of the sound card, in milliseconds
#   lead_again               takes JACK's timebase back, once, from the program beside us that takes it while it loads
#   play [OPTION]...         becomes tactus with the musician's own tactus.json5; what was given to the start script wins
#
# TACTUS_PROGRAM: the tactus to run. Else the one in PATH, else the checkout's own.
# TACTUS_DAW_SECONDS: the seconds that the program beside tactus has to join JACK, before its absence is said (60).
set -euo pipefail
session=$(dirname "$(readlink -f "${BASH_SOURCE[1]}")")
name=${session##*/}
home=${XDG_DATA_HOME:-$HOME/.local/share}/tactus/sessions/$name
log=${XDG_STATE_HOME:-$HOME/.local/state}/tactus/$name.log
open=${log%.log}.open

stop() {
  echo "session $name: $*" >&2
  exit "${status:-1}"
}

tactus=${TACTUS_PROGRAM-}
if [ -z "$tactus" ] && ! tactus=$(command -v tactus); then
  checkout=$session/../..
  [ -x "$checkout/tools/run" ] || stop "no tactus in PATH"
  "$checkout/tools/run" --version >/dev/null # builds it
  tactus=$checkout/.build/release/tactus
fi

if ! "$tactus" --probe </dev/null >/dev/null 2>&1; then
  if [ -z "${TACTUS_UNDER_PW-}" ] && command -v pw-jack >/dev/null &&
    pw-jack "$tactus" --probe </dev/null >/dev/null 2>&1; then
    TACTUS_UNDER_PW=1 exec pw-jack "$(readlink -f "${BASH_SOURCE[1]}")" "$@" # PipeWire: for all of us
  fi
  status=69 stop "no JACK server: start it, or PipeWire, then start this session again"
fi

needs() {
  command -v "$1" >/dev/null || stop "needs $1: apt install $2"
}

wishes() {
  command -v "$1" >/dev/null ||
    echo "session $name: without $1 $2: apt install jack-example-tools (Debian 12: jackd2), then start this session again" >&2
}

own() {
  if is_cut "$1"; then
    echo "session $name: the copy of $1 in $home was cut short, as by a full disk; a new one takes its place" >&2
    rm -f "$home/$1"
  fi
  if [ ! -e "$home/$1" ]; then
    # A copy that a full disk cuts short never gets the file's name.
    if ! { mkdir -p "$(dirname "$home/$1")" && original "$1" "$(rate)" >"$home/$1.new" &&
      mv "$home/$1.new" "$home/$1"; }; then
      rm -f "$home/$1.new"
      stop "cannot copy $1 to $home: make room there, then start this session again"
    fi
  fi
  echo "$home/$1"
}

# The session's file FILE for a server's RATE: a session file says which rate it was made at.
original() {
  sed "s/@RATE@/$2/g" "$session/$1"
}

# Whether the copy of FILE is the beginning of its original and no more: earlier versions of tactus kept what a full disk had cut short.
# The server may have had another rate then.
is_cut() {
  local size rate
  size=$(stat -c %s "$home/$1" 2>/dev/null) || return
  for rate in 48000 44100 88200 96000 176400 192000 "$(rate)"; do
    if [ "$size" -lt "$(original "$1" "$rate" | wc -c)" ] && cmp -s -n "$size" <(original "$1" "$rate") "$home/$1"; then
      return
    fi
  done
  return 1
}

rate() {
  jack_samplerate 2>/dev/null | grep -x '[0-9]*' || echo 48000
}

# The program that the last start of this session left open, or nothing. Its number may belong to another program by now, so the
# moment of its start is compared, too.
still_open() {
  local number started
  [ -r "$open" ] && read -r number started <"$open" || return 0
  [ "$(began "$number")" != "$started" ] || echo "$number"
}

# The moment at which a process began, in ticks of the kernel; nothing if it has ended (Z: nobody has asked how).
began() {
  sed -n 's/.*) \([^Z] .*\)/\1/p' "/proc/$1/stat" 2>/dev/null | cut -d ' ' -f 20
}

# The ports of JACK's clients; PipeWire's own tool says it where jack_lsp is not installed.
jack_ports() {
  jack_lsp 2>/dev/null || { ! pgrep -x 'jackd|jackdbus' >/dev/null && pw-link -io 2>/dev/null; }
}

# Whether JACK has a client of this name; if no tool lists clients, whether a process of ours has it. A second client of a program gets a
# number behind its name.
is_open() {
  local ports
  if ports=$(jack_ports); then
    grep -Eiq "^$1(-[0-9]+)?:" <<<"$ports"
  else
    pgrep -u "$EUID" -x "$1" >/dev/null 2>&1
  fi
}

beside() {
  local there
  there=$(still_open)
  if [ -n "$there" ]; then
    export TACTUS_BESIDE="$$ $there ${1##*/} $log"
    echo "session $name: ${1##*/} is still open from the last start; tactus joins it" >&2
    return
  fi
  if is_open "${client-${1##*/}}"; then
    # The musician opened it: tactus neither knows its process nor its messages.
    echo "session $name: ${1##*/} is open already, with what you opened in it; tactus joins it" >&2
    return
  fi
  mkdir -p "$(dirname "$log")" || stop "cannot write to $(dirname "$log")"
  miss "${client-${1##*/}}" "${1##*/}" &
  # A session of its own: the terminal's Ctrl-C is for tactus, and unsaved work is not. tactus, which this shell becomes,
  # tells when it ends.
  setsid env --default-signal=INT,QUIT "$@" >"$log" 2>&1 </dev/null &
  export TACTUS_BESIDE="$$ $! ${1##*/} $log" # $$ becomes tactus
  echo "$! $(began $!)" >"$open" || echo "session $name: could not note that ${1##*/} runs: the next start will open a second one" >&2
  echo "session $name: the messages of ${1##*/} go to $log" >&2
}

# miss CLIENT PROGRAM: says, after a minute, that the program runs and is not on JACK. It may wait for an answer in a window.
miss() {
  local left=${TACTUS_DAW_SECONDS:-60}
  while [ "$left" -gt 0 ]; do
    sleep 1
    kill -0 $$ 2>/dev/null || return # $$ becomes tactus
    ! is_open "$1" || return
    left=$((left - 1))
  done
  [ -z "$(still_open)" ] ||
    echo "session $name: $2 is open and has not joined JACK: answer what its window asks, and choose JACK there as the audio system" >&2
}

# Ardour asks for everything at its first start; a later start asks for the audio system all the same, unless it is told
# to go on with the last one. Preferences of its own are never touched.
new_to_ardour() {
  local version folder backend=JACK
  version=$(sed -n 's/.*ARDOUR_CONFIG_PATH=.*ardour\([0-9]*\).*/\1/p' "$(command -v ardour)" | head -n 1)
  folder=${XDG_CONFIG_HOME:-$HOME/.config}/ardour$version
  [ -n "$version" ] && [ ! -e "$folder/config" ] || return 0
  [ "$version" -lt 8 ] || backend=JACK/Pipewire # Ardour 8 has another name for JACK, and each version takes its own only
  mkdir -p "$folder"
  : >"$folder/.a$version" # it has been used before
  cat >"$folder/config" <<END
<?xml version="1.0" encoding="UTF-8"?>
<Ardour>
  <Config>
    <Option name="try-autostart-engine" value="1"/>
  </Config>
  <Extra>
    <AudioMIDISetup>
      <EngineStates>
        <State backend="$backend" driver="" device="" input-device="" output-device="" sample-rate="$(rate)" buffer-size="256" n-periods="0" input-latency="0" output-latency="0" lm-input="" lm-output="" active="1" use-buffered-io="0" midi-option="" lru="1">
          <MIDIDevices/>
        </State>
      </EngineStates>
    </AudioMIDISetup>
  </Extra>
  <TransportMasters current="JACK Transport">
    <TransportMaster type="JACK" name="JACK Transport" removeable="0"/>
    <TransportMaster type="MTC" name="MTC" removeable="0"/>
    <TransportMaster type="LTC" name="LTC" removeable="0"/>
    <TransportMaster type="MIDIClock" name="MIDI Clock" removeable="0"/>
  </TransportMasters>
</Ardour>
END
}

# The longest of the physical outputs, as tactus counts; 0 where nobody can tell.
output_latency() {
  LC_ALL=C jack_lsp -p -t -l 2>/dev/null | LC_ALL=C awk -v rate="$(rate)" '
    /^[^\t ]/ { latency = 0 }
    /port playback latency/ { latency = $(NF - 2) }
    /properties:.*input.*physical/ { physical = 1 }
    /audio/ { if (physical && latency > longest) longest = latency }
    /^[^\t ]/ { physical = 0 }
    END { printf "%.3f", longest * 1000 / rate }'
}

lead_again() {
  (
    while sleep 1 && kill -0 $$; do # $$ becomes tactus
      "$tactus" status --json | grep -Eq '"jack/timebase/str": *"(another client|.* \(probably\))"' || continue
      sleep 1 # it may still be loading
      "$tactus" send takeover && exit
    done
  ) </dev/null >/dev/null 2>&1 &
}

play() {
  local config
  config=$(own tactus.json5)
  exec "$tactus" --config "$config" "$@" "${extra[@]}"
}
extra=("$@")
