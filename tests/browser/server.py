"""A queue with something in it, and `readpast serve` on it."""

import json
import os
import pathlib
import subprocess
import tempfile

HOSTILE = "\"><img src=x onerror=window.pwned=1><script>window.pwned=1</script>"
REPORTS = """queue = "Reports"
schedule = [{ name = "nightly", cron = "0 3 * * *", zone = "Europe/Zurich" }]
"""

SPEC = """
queue = "Mail"
types = ["Email", "Sms"]
attempts = { history = true }
columns = [{ name = "Recipient", type = "text(254)", nullable = false }, { name = "Body", type = "text" }, { name = "N", type = "integer" }, { name = "Tags", type = "json" }]
"""
# On a busy machine the command's own patience may not be enough.
PATIENCE = """
login.timeout_ms = 600000
query.timeout_ms = 600000
lock.timeout_ms = 600000
pool.acquire_ms = 600000
"""
HANDLER = """
case $READPAST_COL_N in
    1|2|3) echo "550 no such mailbox" >&2; exit 65;;
    4) printf '%s' "$READPAST_COL_BODY" >&2; exit 65;;
    5|6) echo "timed out" >&2; exit 1;;
esac
"""


class Server:
    """A server of two queues. Reports has no item. Mail has four Failed (one of them hostile), two in Error, the others
    Completed, three Pending."""

    def __init__(self, command: str):
        self.command = str(pathlib.Path(command).resolve())
        self.folder = tempfile.TemporaryDirectory()
        (pathlib.Path(self.folder.name) / "mail.toml").write_text(SPEC)
        settings = pathlib.Path(self.folder.name) / "readpast.toml"
        settings.write_text(PATIENCE)
        # Under every umask: the command refuses settings that others may write.
        settings.chmod(0o600)
        self.run("install", "mail.toml")
        (pathlib.Path(self.folder.name) / "reports.toml").write_text(REPORTS)
        self.run("install", "reports.toml")
        self.enqueue(range(1, 40))
        self.run("work", "Mail", "--until-empty", "--retry-delay", "1h", "--jobs", "2", "--", "sh", "-c", HANDLER)
        self.enqueue(range(40, 43))
        # An operation without an item, and figures of a day.
        self.run("resume", "Mail", "--all")
        wave = "40 + 35 * sin(g / 120.0), 9000 + 8000 * sin(g / 120.0), 4, (1430 - g) / 400, 30 + 20 * cos(g / 200.0)"
        self.sql(
            "INSERT INTO readpast.queue_minute (queue, at, due, oldest_ms, in_flight, failed, ended)"
            f" SELECT 'mail', date_trunc('minute', clock_timestamp()) - g * interval '1 minute', {wave}"
            " FROM generate_series(1, 1430) AS g"
        )
        self.url = self.start("127.0.0.1:0")

    def start(self, address: str) -> str:
        arguments = ["serve", "--listen", address, "--every", "1s", "--allow-actions", "--allow-purge"]
        arguments += ["--environment", "staging", "--color", "orange"]
        self.process = subprocess.Popen(
            [self.command, *arguments], cwd=self.folder.name, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        line = self.process.stdout.readline()
        if not line.startswith("listening on "):
            raise RuntimeError(f"the server said {line!r}")
        return "http://" + line.split()[-1]

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()

    def run(self, *arguments: str, given: str = "") -> str:
        done = subprocess.run(
            [self.command, *arguments], cwd=self.folder.name, input=given, capture_output=True, text=True, check=True
        )
        return done.stdout

    def sql(self, statement: str) -> None:
        named = {"server": "host", "port": "port", "database": "dbname", "uid": "user", "pwd": "password"}
        parts = [part.split("=", 1) for part in os.environ["READPAST_CONNECTION"].split(";") if "=" in part]
        place = " ".join(f"{named[name.lower()]}={value}" for name, value in parts if name.lower() in named)
        psql = ["psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--dbname", place, "--command", statement]
        subprocess.run(psql, check=True)

    def enqueue(self, numbers: range) -> None:
        items = [{"Recipient": f"ann{n}@example.org", "Body": HOSTILE, "N": n, "Tags": {"campaign": "spring", "parts": [n, HOSTILE]}} for n in numbers]
        self.run("enqueue", "Mail", given="".join(json.dumps(item) + "\n" for item in items))

    def states(self) -> dict[str, int]:
        return json.loads(self.run("stats", "Mail", "--json"))["counts"]

    def operation(self) -> int:
        return json.loads(self.run("operations", "list", "--json").splitlines()[0])["number"]

    def key(self, state: str) -> str:
        return json.loads(self.run("show", "Mail", "--status", state, "--limit", "1", "--json").splitlines()[0])["key"]

    def close(self) -> None:
        self.stop()
        self.folder.cleanup()
