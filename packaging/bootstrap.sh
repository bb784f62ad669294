#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Installs what a group of packaging/apt-packages.txt needs and this machine lacks.
#
#     packaging/bootstrap.sh build|demo|test|extra
#
# Each includes those before it.  Installs as root, else through sudo; where
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
    demo) groups=' build demo ' ;;
    test) groups=' build demo test ' ;;
    extra) groups=' build demo test extra ' ;;
    *) fail "unknown group '$group'; use build, demo, test or extra" ;;
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

have_lists() {
    ls /var/lib/apt/lists/*_Packages* >/dev/null 2>&1
}

# Passes packages on, but for those that this release does not offer.  A test that needs one of
# them skips and says so; what the build needs is passed on regardless, for apt to complain about.
offered() {
    while read -r package; do
        if grep -q "^build $package" "$list" || apt-cache show "$package" >/dev/null 2>&1; then
            echo "$package"
        fi
    done
}

wanted_here() {
    if have_lists; then missing | offered; else missing; fi | tr '\n' ' '
}

[ -n "$(missing)" ] || exit 0
packages=$(wanted_here)
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

if ! have_lists; then
    $as_root apt-get update -q
    packages=$(wanted_here)
fi

echo "Installing: $packages"
install_packages || {
    # Lists from an older day may name versions that the mirror has dropped.
    $as_root apt-get update -q
    install_packages
} || fail "apt-get could not install; try it by hand:
    apt-get install $packages"
