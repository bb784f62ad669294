#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Installs those packages of the named groups of packaging/apt-packages.txt that are missing here.
#
#     packaging/bootstrap.sh GROUP...
#
# It installs as root, else through sudo. Where neither is available, it prints the missing packages
# that the build cannot do without, and exits with status 2. Where nothing is missing it prints
# nothing and does not run apt, so it costs nothing to call it before every build.
set -eu

list=$(dirname "$0")/apt-packages.txt
groups=" $* "

fail() {
    echo "bootstrap: $1" >&2
    exit 2
}

known=$(sed -n 's/^\([a-z][a-z]*\) .*/\1/p' "$list" | sort -u | tr '\n' ' ')
[ $# -gt 0 ] || fail "name a group: $known"
for group in "$@"; do
    case " $known" in *" $group "*) ;; *) fail "unknown group '$group'; use $known" ;; esac
done

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

# Prints the wanted packages that are not installed.
missing() {
    installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p')
    for package in $(wanted); do
        printf '%s\n' "$installed" | grep -qxF "$package" || echo "$package"
    done
}

have_lists() {
    ls /var/lib/apt/lists/*_Packages* >/dev/null 2>&1
}

# Drops packages that this release does not offer. A test that needs one of them skips and says so;
# what the build needs is kept regardless, so that apt complains about it.
offered() {
    while read -r package; do
        if grep -q "^build $package" "$list" || apt-cache show "$package" >/dev/null 2>&1; then
            echo "$package"
        fi
    done
}

# Tells whether the mpicc on PATH can read its mpi.h, and the header has the macro of a family.
serves_mpi() {
    command -v mpirun >/dev/null 2>&1 &&
        echo '#include <mpi.h>' | mpicc -E -dM -x c - 2>/dev/null | grep -q "^#define $1 "
}

# Drops packages that nobody has to install: a program that a module or conda has put on PATH serves
# as well, and ccache only saves time.
needed() {
    for package in $packages; do
        program=$package
        case $package in
        ccache) continue ;;
        build-essential) program=c++ ;;
        ninja-build) program=ninja ;;
        openmpi-bin | libopenmpi-dev) ! serves_mpi OPEN_MPI || continue ;;
        mpich | libmpich-dev) ! serves_mpi MPICH_VERSION || continue ;;
        esac
        command -v "$program" >/dev/null 2>&1 || printf '%s ' "$package"
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
    packages=$(needed)
    [ -n "$packages" ] || exit 0
    fail "these packages are missing, and neither root nor sudo is available; ask for
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
    # Package lists of an older day may name versions that the mirror has dropped.
    $as_root apt-get update -q
    install_packages
} || fail "apt-get could not install them; try it by hand:
    apt-get install $packages"
