# SPDX-License-Identifier: GPL-2.0-or-later
# For sourcing. need_packages PACKAGE...: installs those Debian packages that are missing, and says which.
#
# As root with apt-get, else through sudo; it asks for a password only where sudo would. Without either it says
# what to install and returns 1. Everything goes to standard error: the caller's output stays its own.

need_packages() {
  local package rights='' missing=()
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if ! command -v apt-get >/dev/null; then
    echo "missing: ${missing[*]} (Debian's names; this is not Debian: install their equivalents)" >&2
    return 1
  fi
  if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "missing packages; as root: apt-get install ${missing[*]}" >&2
      return 1
    fi
    rights=sudo
  fi
  echo "installing: ${missing[*]}" >&2
  _apt() { $rights env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@" >/dev/null; }
  # Package lists may be missing (a fresh image) or stale: one refresh before giving up.
  _apt install --no-install-recommends -y "${missing[@]}" 2>/dev/null && return 0
  _apt update >&2 && _apt install --no-install-recommends -y "${missing[@]}" >&2
}
