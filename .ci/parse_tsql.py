#!/usr/bin/env python3
"""Reads T-SQL scripts with Microsoft's parser (that of Management Studio), and prints what it does not understand.

    parse_tsql.py PARSER FOLDER

PARSER is what .ci/setup.sh has unpacked, FOLDER holds the scripts. Prints file, line, batch and message of each error, and
exits with 1 if there is one. The parser knows the grammar of SQL Server 2017 and binds no names.
"""

import json
import os
import sys
import tempfile
from pathlib import Path


def load_parser(folder: Path):
    """Starts .NET in this process; returns the parser's class."""
    sys.path.insert(0, str(folder / "lib"))
    from clr_loader import get_coreclr
    from pythonnet import set_runtime

    options = {
        "runtimeOptions": {
            "tfm": "netcoreapp3.1",
            "framework": {"name": "Microsoft.NETCore.App", "version": "3.1.0"},
            # No ICU is needed.
            "configProperties": {"System.Globalization.Invariant": True},
        }
    }
    with tempfile.TemporaryDirectory() as place:
        config = Path(place, "runtimeconfig.json")
        config.write_text(json.dumps(options))
        set_runtime(get_coreclr(runtime_config=str(config), dotnet_root=str(folder / "dotnet")))
        import clr
    clr.AddReference(str(folder / "Microsoft.SqlServer.SqlParser.dll"))
    from Microsoft.SqlServer.Management.SqlParser.Parser import Parser

    return Parser


def errors_of(parser, text: str):
    """Line, batch (counted from 1) and message of each error in a script."""
    result = parser.Parse(text)
    starts = [batch.StartLocation.LineNumber for batch in result.Script.Batches]
    for error in result.Errors:
        line = error.Start.LineNumber
        yield line, sum(start <= line for start in starts), error.Message


def main() -> int:
    parser_folder, folder = (Path(argument).resolve() for argument in sys.argv[1:])
    os.environ["DOTNET_CLI_TELEMETRY_OPTOUT"] = "1"
    parser = load_parser(parser_folder)
    # A parser that sees nothing wrong here sees nothing at all.
    assert list(errors_of(parser, "SELECT 1;\nGO\nSELECT FROM x;"))[0][:2] == (3, 2)
    scripts = sorted(folder.glob("*.sql"))
    found = 0
    for script in scripts:
        for line, batch, message in errors_of(parser, script.read_text(encoding="utf-8")):
            found += 1
            print(f"{script.name}:{line}: batch {batch}: {message}")
    print(f"Microsoft's parser read {len(scripts)} scripts: {found} errors")
    return 1 if found or not scripts else 0


if __name__ == "__main__":
    sys.exit(main())
