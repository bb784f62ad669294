#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Builds the Debian package of this tree.
#
#     packaging/debian/build.sh FOLDER
#
# FOLDER gets a copy of the sources, since Debian's tools want theirs in the folder `debian` of the
# root and write beside it, and then the packages. It needs `debhelper`, and what
# `packaging/bootstrap.sh build openmpi` installs.
set -eu
[ $# -eq 1 ] || { echo "usage: packaging/debian/build.sh FOLDER" >&2; exit 2; }
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
version=$(cat "$root/VERSION")
# Of a name that nothing else has, since the one of a build before is removed.
copy=$folder/lanewise-debian-sources

rm -rf "$copy"
mkdir "$copy"
(cd "$root" && tar -cf - CMakeLists.txt VERSION cmake docs/man include packaging src) |
    tar -xf - -C "$copy"
cp -r "$root/packaging/debian" "$copy/debian"
rm "$copy/debian/build.sh"
# The version stands in VERSION alone.
cat >"$copy/debian/changelog" <<END
lanewise ($version) unstable; urgency=medium

  * CHANGELOG.md says what is new.

 -- The Lanewise developers <lanewise@localhost>  $(LC_ALL=C date -R)
END

cd "$copy"
dpkg-buildpackage --build=binary --unsigned-source --unsigned-changes
