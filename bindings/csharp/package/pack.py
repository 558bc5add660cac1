#!/usr/bin/python3
"""Makes the NuGet package that `dotnet pack` would make of Readpast.csproj, without the .NET SDK.

    pack.py DIRECTORY

What the package is called and which files it holds is read from the project file. The assembly and its documentation are
taken from build/, where `make` puts them. The same input gives the same package, byte for byte.
"""

import os
import re
import sys
import zipfile
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

BINDING = Path(__file__).resolve().parent.parent
PROJECT = BINDING / "src" / "Readpast" / "Readpast.csproj"

NUSPEC = """<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://schemas.microsoft.com/packaging/2013/05/nuspec.xsd">
  <metadata>
    <id>{PackageId}</id>
    <version>{Version}</version>
    <authors>{Authors}</authors>
    <license type="file">{PackageLicenseFile}</license>
    <readme>{PackageReadmeFile}</readme>
    <description>{Description}</description>
    <tags>{PackageTags}</tags>
    <dependencies>
      <group targetFramework=".NETStandard2.0" />
    </dependencies>
  </metadata>
</package>
"""

RELATIONS = """<?xml version="1.0" encoding="utf-8"?>
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
  <Relationship Type="http://schemas.microsoft.com/packaging/2010/07/manifest" Target="/{PackageId}.nuspec" Id="R1" />
</Relationships>
"""


def properties(project: ElementTree.Element) -> dict[str, str]:
    """The values of the project's properties, of which the first assignment whose condition holds is the one."""
    values = dict(os.environ)
    values["MSBuildThisFileDirectory"] = f"{PROJECT.parent}/"
    for each in project.iterfind("PropertyGroup/*"):
        if "Condition" not in each.attrib or not values.get(each.tag):
            values[each.tag] = expand(each.text or "", values)
    return values


def expand(text: str, values: dict[str, str]) -> str:
    """Puts the values of properties in the place of their names."""
    return re.sub(r"\$\((\w+)\)", lambda name: values.get(name[1], ""), text)


def content_types(paths: list[str]) -> str:
    """The part that tells the type of every other part, by its extension or, where there is none, by its name."""
    lines = []
    for extension in sorted({Path(path).suffix[1:] for path in paths if Path(path).suffix} | {"rels"}):
        kind = "vnd.openxmlformats-package.relationships+xml" if extension == "rels" else "octet"
        lines.append(f'  <Default Extension={quoteattr(extension)} ContentType="application/{kind}" />')
    for path in paths:
        if not Path(path).suffix:
            lines.append(f'  <Override PartName={quoteattr("/" + path)} ContentType="application/octet" />')
    types = "\n".join(lines)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">\n{types}\n</Types>\n'
    )


def main(directory: Path) -> None:
    project = ElementTree.parse(PROJECT).getroot()
    values = properties(project)
    escaped = {name: escape(value) for name, value in values.items()}

    parts = {f"{values['PackageId']}.nuspec": NUSPEC.format_map(escaped).encode()}
    for name in ("Readpast.dll", "Readpast.xml"):
        parts[f"lib/{values['TargetFramework']}/{name}"] = (BINDING / "build" / name).read_bytes()
    for file in project.iterfind("ItemGroup/None[@Pack='true']"):
        if expand(file.get("Condition", ""), values) == "'' != ''":
            continue
        source = PROJECT.parent / expand(file.attrib["Include"], values)
        parts[file.attrib["PackagePath"]] = source.read_bytes()
    parts["_rels/.rels"] = RELATIONS.format_map(escaped).encode()
    types = content_types([path for path in parts if path != "_rels/.rels"])

    directory.mkdir(parents=True, exist_ok=True)
    package = directory / f"{values['PackageId']}.{values['Version']}.nupkg"
    with zipfile.ZipFile(package, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in [("[Content_Types].xml", types.encode()), *parts.items()]:
            entry = zipfile.ZipInfo(path)  # of 1980: the hour of the build is nobody's business
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
