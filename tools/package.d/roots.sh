# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Sourced after clean.sh: the Debian roots (folders with a whole Debian) that stay in ~/.cache/tactus. A root
# is made once. If a list of packages below grows, the new packages are installed in the root.
#
#   cached NAME   makes or completes the root, and prints its path; status 77 if there can be none
#     bookworm       Debian 12 with PipeWire, jackd and the libraries of tactus
#     trixie         Debian 13 with PipeWire, as the installer leaves it
#     trixie-studio  the same with jackd, DAWs, a compiler for the reference peer, and the libraries of tactus: 1.5 GB
#     sid            Debian's own Swift compiler, PipeWire, jackd, and the DAWs that can be installed there today: 5 GB

peer_in_root="pipewire-jack jackd2 jack-example-tools ableton-link-dev python3-numpy"
desktop_in_root="pipewire pipewire-pulse wireplumber dbus curl iproute2"
declare -A needed_in_root=(
  [bookworm]="$desktop_in_root pipewire-jack jackd2 liblo7 libmicrohttpd12 libqrencode4 libsndfile1 libsodium23 libwslay1"
  [trixie]=$desktop_in_root
  [trixie-studio]="$desktop_in_root $peer_in_root g++ libjack-jackd2-dev ardour hydrogen qtractor xvfb
    liblo7 libmicrohttpd12t64 libqrencode4 libsndfile1 libsodium23 libwslay1"
  [sid]="build-essential fakeroot lintian swiftlang lld $desktop_in_root $peer_in_root"
)
# In sid, a package may be impossible to install today, so each of these is tried separately.
declare -A wanted_in_root=([sid]="ardour xvfb hydrogen qtractor")

# A function body in round brackets runs in a separate process, so the lock is released at its end.
cached() (
  set -euo pipefail
  name=$1 suite=${1%-studio} folder=${XDG_CACHE_HOME:-$HOME/.cache}/tactus
  cache=$folder/$name
  list="${needed_in_root[$name]} ${wanted_in_root[$name]-}"
  mkdir -p "$folder"
  exec 9>"$cache.lock"
  flock 9
  if ! cmp -s "$cache/made" - <<<"$list"; then
    if [ ! -e "$cache/made" ]; then
      rm -rf --one-file-system "$cache"
      if [ "$name" = "$suite" ]; then
        clean_debian "$cache" "$suite"
      else
        base=$(cached "$suite")
        cp -a "$base" "$cache"
      fi
      rm -f "$cache/made"
    else
      quietly inside "$cache" apt-get -q update || none "apt-get update"
    fi
    # shellcheck disable=SC2086 # packages are words
    get "$cache" ${needed_in_root[$name]}
    for package in ${wanted_in_root[$name]-}; do
      inside "$cache" apt-get -q -y --no-install-recommends install "$package" >/dev/null 2>&1 || true
    done
    inside "$cache" apt-get clean
    echo "$list" >"$cache/made"
  fi
  echo "$cache"
)
