# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Sourced after lib/packages.sh: functions that make and use a clean Debian 12 in a folder, from this
# machine's own Debian mirror.
#
#   clean_debian FOLDER [SUITE]   makes it with debootstrap (bookworm); status 77 if that fails, which says nothing about the test
#   debian_mirror              the address from which this machine's own Debian comes
#   over FOLDER PLACE          makes an overlay of FOLDER at PLACE/root; changes there leave FOLDER as it is. Sets `clean` to PLACE/root
#   inside FOLDER COMMAND...   runs a command there, without this machine's environment
#   get FOLDER PACKAGE...      installs Debian packages there
#   passed WORDS               prints that a check has passed
#   hardened PACKAGE           dies if the program in the package is linked without RELRO or BIND_NOW

none() {
  echo "${0##*/}: $*" >&2
  exit 77
}

passed() { echo "${0##*/}: $*"; }

hardened() {
  local program headers
  program=$(mktemp)
  dpkg-deb --fsys-tarfile "$1" | tar -xO ./usr/bin/tactus >"$program"
  headers=$(readelf --wide --program-headers --dynamic "$program")
  rm "$program"
  [[ $headers == *GNU_RELRO* && $headers == *BIND_NOW* ]] || die "the program is linked without RELRO or BIND_NOW (Package.swift)"
}

# Runs a command, and shows its last output if it failed.
quietly() {
  local log status=0
  log=$(mktemp)
  "$@" >"$log" 2>&1 || status=$?
  [ $status = 0 ] || tail -n 20 "$log" >&2
  rm -f "$log"
  return $status
}

inside() {
  local folder=$1
  shift
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive HOME=/tmp TERM=dumb chroot "$folder" "$@"
}

get() {
  local folder=$1
  shift
  quietly inside "$folder" apt-get -q -y --no-install-recommends install "$@" || die "apt-get install $*"
}

# Prints nothing if apt knows no mirror.
debian_mirror() {
  # shellcheck disable=SC2016 # apt's own format
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' 'Component: main' | sort -u | head -n 1
}

clean_debian() {
  local folder=$1 suite=${2:-bookworm} mirror certificates=/etc/ssl/certs/ca-certificates.crt
  [ "$(id -u)" = 0 ] || none "a clean root needs root"
  mirror=$(debian_mirror)
  [ -n "$mirror" ] || none "this machine's apt knows no Debian to make a clean one from"
  echo "${0##*/}: a clean Debian: $suite" >&2
  quietly debootstrap --variant=minbase "$suite" "$folder" "$mirror" || none "debootstrap failed"
  echo force-unsafe-io >"$folder/etc/dpkg/dpkg.cfg.d/thrown-away" # no use waiting for the disk
  [ ! -e $certificates ] || install -Dm 644 $certificates "$folder$certificates"
  cp /etc/resolv.conf "$folder/etc/resolv.conf"
  echo 'Acquire::Check-Valid-Until "false";' >"$folder/etc/apt/apt.conf.d/90stale" # a mirror may be older than the clock
  quietly inside "$folder" apt-get -q update || none "apt-get update"
  inside "$folder" apt-get -q -y --download-only install man-db >/dev/null 2>&1 || none "its packages cannot be fetched"
  [ -z "$(inside "$folder" sh -c 'command -v swift')" ] || die "the clean root has Swift"
}

over() {
  mount -t tmpfs tmpfs "$2" || none "nothing can be mounted here"
  mkdir "$2"/{upper,work,root}
  mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/root" || none "no overlay can be mounted here"
  clean=$2/root
  cp /etc/resolv.conf "$clean/etc/resolv.conf"
}
