#!/usr/bin/env python3
"""Checks that every crate we build with, build tools included, has a licence we accept.

Reads the SPDX expressions in `cargo metadata`; prints each crate whose expression cannot be met and exits with 1.
"""

import json
import re
import subprocess
import sys

# Licence, and why it is acceptable in a library under the MIT licence that others link into closed programs.
ACCEPTED = {
    "0BSD": "asks for nothing",
    "Apache-2.0": "permissive; keep the notice",
    "Apache-2.0 WITH LLVM-exception": "as Apache-2.0, and object code needs no notice",
    "BSD-2-Clause": "permissive; keep the notice",
    "BSD-3-Clause": "permissive; keep the notice, do not advertise with the authors' names",
    "BSL-1.0": "permissive; only source needs the notice",
    "CC0-1.0": "public domain",
    "ISC": "permissive; keep the notice",
    "MIT": "our own",
    "MIT-0": "asks for nothing",
    "Unicode-3.0": "permissive; covers the Unicode tables",
    "Unlicense": "public domain",
    "Zlib": "permissive; only source needs the notice",
}

# Licences accepted for one crate only: (crate, licence), and why.
EXCEPTIONS = {
    ("cbindgen", "MPL-2.0"): "generates the header when we build; none of it is linked",
}


def meets(expression: str, accepted: set[str]) -> bool:
    """Whether the accepted licences are enough for an SPDX expression.

    >>> meets("MIT OR GPL-3.0-only", {"MIT"}), meets("MIT/Apache-2.0", {"MIT"})
    (True, True)
    >>> meets("(MIT OR Zlib) AND Unicode-3.0", {"MIT"}), meets("MIT OR ISC AND GPL-2.0", {"ISC"})
    (False, False)
    >>> meets("Apache-2.0 WITH LLVM-exception", {"Apache-2.0"})
    False
    """
    # Old crates write "/" for OR. AND binds tighter than OR; WITH belongs to the licence before it.
    expression = expression.replace("/", " OR ")
    tokens = re.findall(r"[()]|[^\s()]+(?:\s+WITH\s+[^\s()]+)?", expression)

    def any_of() -> bool:
        result = all_of()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            result = all_of() or result
        return result

    def all_of() -> bool:
        result = one()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            result = one() and result
        return result

    def one() -> bool:
        token = tokens.pop(0)
        if token != "(":
            return token in accepted
        result = any_of()
        tokens.pop(0)
        return result

    try:
        result = any_of()
    except IndexError:
        return False
    return result and not tokens


def accepted_for(crate: str) -> set[str]:
    return set(ACCEPTED) | {licence for name, licence in EXCEPTIONS if name == crate}


def main() -> int:
    cargo = subprocess.run(["cargo", "metadata", "--format-version", "1"], stdout=subprocess.PIPE)
    if cargo.returncode != 0:
        return cargo.returncode  # cargo itself has said why
    metadata = json.loads(cargo.stdout)
    ours = set(metadata["workspace_members"])
    crates = [package for package in metadata["packages"] if package["id"] not in ours]
    offenders = [
        f"{crate['name']} {crate['version']}: {crate['license'] or 'no SPDX expression'}"
        for crate in crates
        if not (crate["license"] and meets(crate["license"], accepted_for(crate["name"])))
    ]
    if offenders:
        print("Crates whose licence .ci/licences.py does not accept:", *offenders, sep="\n  ", file=sys.stderr)
        return 1
    print(f"{len(crates)} crates: every licence is accepted")
    return 0


if __name__ == "__main__":
    sys.exit(main())
