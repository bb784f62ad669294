# SPDX-License-Identifier: BSD-3-Clause
"""What the project as a whole keeps to: its root, its version, its documents."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

import tree

ROOT_ENTRIES_MAX = 22
_SPACK = "packaging/spack/spack_repo/lanewise/packages/lanewise/package.py"

_LINK = re.compile(r"!?\[[^\]]*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")
_HTML_LINK = re.compile(r'(?:src|href)="([^"]+)"')
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
# The end of an entry, a blank line, and the next entry.
_GAP = re.compile(r"^(?:- |  )\S.*\n\n(?=- )", re.MULTILINE)
# A list of changes that does not say which part of the product they concern.
_UNSORTED = re.compile(r"^### (?:Changed|Fixed)\n\n(?=- )", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.MULTILINE)

# Hosts that do not answer any more, or only send elsewhere, and where to look instead.
_RETIRED_HOSTS = {
    "code.google.com": "the project's new home",
    "gforge.inria.fr": "gitlab.inria.fr",
    "mellanox.com": "docs.nvidia.com",
    "software.intel.com": "www.intel.com",
    "trac.mpich.org": "github.com/pmodels/mpich",
}

# Where people and registries read what the project is for.
_DESCRIBED_IN = (
    "CITATION.cff",
    _SPACK,
    "packaging/ramble/applications/lanewise/application.py",
    "packaging/containers/Dockerfile",
    "packaging/containers/lanewise.def",
    "packaging/debian/control",
)

# Where a version could be typed a second time: a place, and how it would look.
_TYPED_VERSION = {
    "CMakeLists.txt": re.compile(r"project\([^)]*VERSION\s+\d"),
    "pyproject.toml": re.compile(r"^version\s*=\s*[\"']\d", re.MULTILINE),
    _SPACK: re.compile(r"version\(\s*[\"']\d"),
}
_TYPED_IN_CODE = re.compile(
    r"(?:__version__\s*=\s*|LANEWISE_VERSION\s+|LW_VERSION\s+)[\"']\d+\.\d+"
)


def root_offences(root: Path) -> list[str]:
    """Return an offence where the root folder shows more than one can take in."""
    shown = [name for name in tree.entries(root) if not name.startswith(".")]
    if len(shown) <= ROOT_ENTRIES_MAX:
        return []
    return [f".: {len(shown)} entries, at most {ROOT_ENTRIES_MAX}: {', '.join(shown)}"]


def version_offences(root: Path) -> list[str]:
    """Return the places that state a version by hand, or another than VERSION."""
    version = (root / "VERSION").read_text(encoding="utf-8").strip()
    found = []
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        found.append(f"VERSION: '{version}' is not MAJOR.MINOR.PATCH")
    for name, pattern in _TYPED_VERSION.items():
        if (root / name).exists() and pattern.search((root / name).read_text(encoding="utf-8")):
            found.append(f"{name}: read the version from VERSION")
    found += [
        f"{path}: read the version from VERSION"
        for path in tree.files(root, *tree.CODE, ".cmake")
        if path.parts[0] != "tests"
        and _TYPED_IN_CODE.search((root / path).read_text(encoding="utf-8"))
    ]
    return found + _citation_offences(root, version)


def description_offences(root: Path) -> list[str]:
    """Return the places that describe the project otherwise than pyproject.toml does."""
    stated = re.search(r'\bdescription = "+ ?([^"]+)"', _one_line(root / "pyproject.toml"))
    if stated is None:
        return ["pyproject.toml: say in one sentence what the project is for, as description"]
    return [
        f"{name}: describe the project as pyproject.toml does: {stated[1]}"
        for name in _DESCRIBED_IN
        if (root / name).exists() and stated[1] not in _one_line(root / name)
    ]


def _one_line(path: Path) -> str:
    return " ".join(path.read_text(encoding="utf-8").replace("\\\n", "").split())


def _citation_offences(root: Path, version: str) -> list[str]:
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    stated = re.search(r"^version: (\S+)$", citation, re.MULTILINE)
    if stated and stated[1] == version:
        return []
    return [f"CITATION.cff: say 'version: {version}', as VERSION does"]


def changelog_offences(root: Path) -> list[str]:
    """Return what is wrong with CHANGELOG.md.

    What comes next is first, then the last release; no gaps, and changes are grouped by part.
    """
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## \[?([^\]\n]+?)\]?(?: - .*)?$", text, re.MULTILINE)
    if headings[:1] != ["Unreleased"]:
        return ["CHANGELOG.md: the first section is 'Unreleased'"]
    version = (root / "VERSION").read_text(encoding="utf-8").strip()
    if headings[1:2] not in ([], [version]):
        return [f"CHANGELOG.md: the second section is of {version}, which VERSION has"]
    says = {
        _GAP: "a blank line between two entries",
        _UNSORTED: "an entry without a part; put it below one, such as '#### Sweeps'",
    }
    return [
        f"CHANGELOG.md:{text.count(chr(10), 0, match.start()) + 2}: {what}"
        for pattern, what in says.items()
        for match in pattern.finditer(text)
    ]


def link_offences(root: Path) -> list[str]:
    """Return the links in Markdown files that lead nowhere in the tree, or out of it by a bad way.

    Whether another site answers is seen by make test-all.
    """
    found = []
    for path in tree.files(root, ".md"):
        text = _FENCE.sub("", (root / path).read_text(encoding="utf-8"))
        text = _CODE.sub("``", text)
        for link in _LINK.findall(text) + _HTML_LINK.findall(text):
            reason = _link_reason(root, path, link)
            if reason:
                found.append(f"{path}: {link}: {reason}")
    return found


def _link_reason(root: Path, path: Path, link: str) -> str:
    if re.match(r"[a-z]+:|//", link):
        return _reason_elsewhere(link)
    name, _, anchor = link.partition("#")
    target = root / path.parent / name if name else root / path
    if not target.exists():
        return "there is no such file"
    if anchor and target.suffix == ".md" and anchor not in anchors(target):
        return "there is no such heading"
    return ""


def _reason_elsewhere(link: str) -> str:
    try:
        parts = urlsplit(link)
        host, _ = parts.hostname or "", parts.port
    except ValueError as error:
        return f"it does not parse: {error}"
    if parts.scheme == "mailto":
        return "" if "@" in parts.path else "there is no address"
    if parts.scheme != "https":
        return "use https"
    if not re.fullmatch(r"([a-z0-9-]+\.)+[a-z]+", host):
        return "there is no such host"
    for retired, now in _RETIRED_HOSTS.items():
        if host == retired or host.endswith(f".{retired}"):
            return f"{retired} is retired; see {now}"
    return ""


def anchors(document: Path) -> set[str]:
    """Return the anchors of a document's headings, as GitHub forms them."""
    text = _FENCE.sub("", document.read_text(encoding="utf-8"))
    plain = (re.sub(r"[`*]", "", heading).lower() for heading in _HEADING.findall(text))
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}
