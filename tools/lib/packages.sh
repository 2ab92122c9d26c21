# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Sourced by the scripts in tools/: installs the programs and libraries that the scripts need. It needs only
# bash, and prints its messages to stderr.
#
#   need_packages PACKAGE...   Debian packages; those that are missing are named and installed
#   tactus_version             prints the version that the sources say
#   need_swift                 a toolchain new enough for Package.swift and its linker, or a line that says where to get it
#   need_tactus                the release, built if it is not there or older than its sources; sets $program
#   need_venv                  tools/.venv with the packages of tools/lib/python.txt and python-alone.txt, from PyPI

tools=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck disable=SC2034 # for scripts that source this file
root=$(dirname "$tools")

# shellcheck disable=SC2034
build_packages=(
  g++ git libjack-jackd2-dev liblo-dev libmicrohttpd-dev libqrencode-dev libsndfile1-dev libsodium-dev
  libwslay-dev pkgconf
)
# shellcheck disable=SC2034
peer_packages=(
  ableton-link-utils              # LinkHut
  ableton-link-dev                # the reference library's headers, for Tests/Support/LinkOracle
  jackd2 liblo-tools              # servers, oscsend and oscdump
  pipewire pipewire-bin pipewire-jack wireplumber
  gcc libc6-dev iproute2 python3 python3-numpy python3-venv # the lab
  libasound2-dev                  # for the documentation's metronome
  libltc-dev                      # reads the timecode that we send
  groff-base lua5.4 mandoc        # read the man pages, run the layouts' scripts
  zsh fish                        # read the completions
  tmux                            # a terminal for the tests of the terminal view
  avahi-daemon avahi-utils dbus  # mDNS, for programs that look for tactus on the network
  supercollider-language          # runs the subscriber in docs/osc.md
  python3-zbar                    # reads the QR code, as a phone's camera does
  nftables                        # a firewall that tactus doctor must find
  chromium                        # a phone's browser, for the page
  firefox-esr webkit2gtk-driver xvfb # other phones' browsers; WebKit is Safari's engine, and needs a display
  procps                          # ps and pkill, to find processes that are left behind
  xz-utils                        # unpacks recorded datagrams of real peers
)
# The programs of Tests/Program/InteropTests that follow or lead JACK's transport, and a display for the
# programs with windows. On a bare Debian they are a download of 180 MB, half a minute; all other packages for
# tests are 130 MB. The line with programs that use Link, a plugin host and a video player adds 3 MB, and 18
# MB for xjadeo if Ardour is there.
# shellcheck disable=SC2034
host_packages=(
  hydrogen qtractor ardour klick jack-midi-clock xvfb xdotool
  puredata-core pd-ableton-link supercollider-server jalv x42-plugins xjadeo sooperlooper rosegarden
)

# The packages with which tools/package makes and checks packages.
# shellcheck disable=SC2034
packaging_packages=(debhelper dpkg-dev lintian desktop-file-utils appstream debootstrap makepkg libarchive-tools systemd-container)

die() {
  echo "${0##*/}: $*" >&2
  exit 1
}

need_packages() {
  local missing=() package log
  command -v dpkg-query >/dev/null || {
    echo "not a Debian system: please install by hand what corresponds to $*" >&2
    return 0
  }
  for package; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  echo "installing: ${missing[*]}" >&2
  log=$(mktemp)
  if install_packages "${missing[@]}" >"$log" 2>&1 ||
    { as_root apt-get -q update && install_packages "${missing[@]}"; } >>"$log" 2>&1; then
    rm -f "$log"
  else
    tail -n 15 "$log" >&2
    rm -f "$log"
    die "could not install them; as root: apt-get install ${missing[*]}"
  fi
}

install_packages() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends \
    -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 install "$@" </dev/null
}

# Runs a command as root, and asks for a password only on a terminal.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif ! command -v sudo >/dev/null; then
    echo "this needs root, and there is no sudo here"
    return 1
  elif [ -t 2 ] && [ -r /dev/tty ]; then
    sudo -p "password of %u, to install: " "$@"
  else
    sudo -n "$@"
  fi
}

tactus_version() {
  sed -n 's/.*static let version = "\(.*\)".*/\1/p' "$root/Sources/Program/TactusApp/Tactus.swift"
}

need_swift() {
  local version
  # A Swift toolchain from a tarball comes without the system libraries that it needs.
  if command -v swift >/dev/null && ! swift --version >/dev/null 2>&1; then
    need_packages libcurl4 libncurses6 libsqlite3-0 libxml2
  fi
  version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9]*\.[0-9]*\).*/\1/p' | head -n 1)
  case $version in
    6.[2-9] | 6.[1-9][0-9] | [7-9].* | [1-9][0-9].*) ;;
    *) die "needs Swift 6.2 or newer in PATH (found: ${version:-none}); see https://www.swift.org/install/linux" ;;
  esac
  # A toolchain from swift.org contains the linker lld, which Package.swift names; Debian's own compiler does
  # not.
  [ -x "$(dirname "$(readlink -f "$(command -v swift)")")/ld.lld" ] || command -v ld.lld >/dev/null || need_packages lld
}

need_tactus() {
  local news=''
  need_packages "${build_packages[@]}"
  program=$root/.build/release/tactus
  if [ ! -x "$program" ]; then
    news="building tactus; the first time takes some minutes"
  elif [ -n "$(find "$root"/{Package.swift,Sources} -newer "$program" -print -quit)" ]; then
    news="building tactus again: its sources have changed"
  fi
  [ -n "$news" ] || return 0
  need_swift
  echo "$news" >&2
  # Never build with colours: otherwise each change between builds with and without a terminal would compile
  # everything anew.
  swift build --package-path "$root" -c release --product tactus --quiet --no-color-diagnostics </dev/null >&2 || return
  touch -c "$program" # what was edited may have changed nothing in it
}

# Use Debian's own Python, even if another one is first in PATH, because the peers are binary packages for it.
need_venv() {
  local venv=$tools/.venv list=$tools/lib/python.txt alone=$tools/lib/python-alone.txt
  need_packages python3 python3-venv
  cat "$list" "$alone" | cmp -s - "$venv/installed.txt" && return 0
  (
    flock 9 # another process may be making it
    cat "$list" "$alone" | cmp -s - "$venv/installed.txt" && exit 0
    echo "making tools/.venv: $(cat "$list" "$alone" | grep -v '^#' | tr '\n' ' ')" >&2
    rm -rf "$venv"
    if /usr/bin/python3 -m venv "$venv" && "$venv/bin/pip" install -q -r "$list" </dev/null >&2 &&
      "$venv/bin/pip" install -q --no-deps -r "$alone" </dev/null >&2; then
      cat "$list" "$alone" >"$venv/installed.txt"
    else
      die "could not make tools/.venv"
    fi
  ) 9>"$tools/.venv.lock" || exit 1
}
