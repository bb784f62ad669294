#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Installs what a group of packaging/apt-packages.txt needs and this machine lacks.
#
#     packaging/bootstrap.sh build|test|extra
#
# `test` includes `build`, `extra` includes both.  Installs as root, else through sudo; where
# there is neither, prints the missing packages and stops with status 2.  Where nothing is
# missing it says nothing and asks apt nothing, so that calling it before every build is free.
set -eu

group=${1:-build}
list=$(dirname "$0")/apt-packages.txt

fail() {
    echo "bootstrap: $1" >&2
    exit 2
}

case $group in
    build) groups=' build ' ;;
    test) groups=' build test ' ;;
    extra) groups=' build test extra ' ;;
    *) fail "unknown group '$group'; use build, test or extra" ;;
esac

if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
    echo "bootstrap: not a Debian or Ubuntu machine; $list names what the build needs" >&2
    exit 0
fi

distribution=$(. /etc/os-release && echo "${ID:-debian}")

wanted() {
    while read -r of package only; do
        case $of in '' | '#'*) continue ;; esac
        case $groups in *" $of "*) ;; *) continue ;; esac
        case ${only:-$distribution} in "$distribution") echo "$package" ;; esac
    done <"$list"
}

# Lists on standard output the wanted packages that are not installed.
missing() {
    installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p')
    for package in $(wanted); do
        printf '%s\n' "$installed" | grep -qxF "$package" || echo "$package"
    done
}

packages=$(missing | tr '\n' ' ')
packages=${packages% }
[ -n "$packages" ] || exit 0

if [ "$(id -u)" -eq 0 ]; then
    as_root='env DEBIAN_FRONTEND=noninteractive'
elif command -v sudo >/dev/null 2>&1 && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
    as_root='sudo env DEBIAN_FRONTEND=noninteractive'
else
    fail "these packages are missing, and neither root nor sudo is at hand; ask for
    apt-get install $packages"
fi

install_packages() {
    # shellcheck disable=SC2086
    $as_root apt-get install -y -q --no-install-recommends $packages
}

# True where the lists on this machine know every package that is wanted.
known() {
    for package in $packages; do
        apt-cache show "$package" >/dev/null 2>&1 || return 1
    done
}

echo "Installing: $packages"
known || $as_root apt-get update -q
install_packages || {
    # Lists from an older day may name versions that the mirror has dropped.
    $as_root apt-get update -q
    install_packages
} || fail "apt-get could not install; try it by hand:
    apt-get install $packages"
