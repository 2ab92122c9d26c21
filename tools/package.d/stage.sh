# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # for the scene, and from it
# Sourced by a scene (a script that runs in a Debian root), which has set $server to PipeWire or jackd. Makes
# a home folder and a network without other machines, and defines:
#
#   serve                starts that server: PipeWire with the distribution's own configuration, or jackd; behind "${library[@]}" a
#                        program finds its JACK library
#   desktop              starts PipeWire alone, with a sink that stands for a sound card
#   await WORDS FILE     waits until FILE contains WORDS
mount -t proc proc /proc
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /run
# Two scenes may run in one root at the same time, so each has its own home folder and display.
export HOME=/root/$server XDG_CACHE_HOME=/tmp/.cache XDG_RUNTIME_DIR=/run/user/0 LC_ALL=C.UTF-8 JACK_NO_START_SERVER=1
export PATH=/usr/sbin:/usr/bin:/sbin:/bin DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/0/bus DISPLAY=:${#server}
mkdir -p /run/user "$HOME"
mkdir -m 700 /run/user/0
ip link set lo up multicast on
ip route add 224.0.0.0/4 dev lo
cd "$HOME" || exit 1

# await WORDS FILE: waits until FILE contains WORDS.
await() {
  for _ in $(seq 150); do
    grep -q "$1" "$2" && return
    sleep 0.1
  done
  echo "no \"$1\" in: $(cat "$2")"
  return 1
}

desktop() {
  local card=.config/pipewire/pipewire.conf.d/card.conf
  mkdir -p "${card%/*}"
  # A sink that stands for a sound card, unless the scene has made its own: Hydrogen does not play without one.
  [ -e "$card" ] || cat >"$card" <<'CARD'
context.objects = [ { factory = adapter args = {
  factory.name = support.null-audio-sink node.name = "alsa_output.card.analog-stereo" node.description = "Card" media.class = Audio/Sink
  audio.position = [ FL FR ] priority.driver = 1000 priority.session = 1000 port.physical = true port.terminal = true
} } ]
CARD
  pipewire >pipewire.log 2>&1 &
  sound=("$!")
  sleep 1
  wireplumber >wireplumber.log 2>&1 &
  sound+=("$!")
  sleep 1
}

serve() {
  if [ "$server" = PipeWire ]; then
    library=(pw-jack)
    dbus-daemon --session --address=$DBUS_SESSION_BUS_ADDRESS --nofork --nopidfile >dbus.log 2>&1 &
    desktop
  else
    library=()
    jackd -d dummy -p 256 >jackd.log 2>&1 &
    sleep 1
  fi
}
