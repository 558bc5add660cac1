"""Jobs that do nothing through procrastinate, 10 at once.

DATABASE_URL=postgres://... python procrastinate_peer.py COUNT
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import time

import procrastinate

count = int(sys.argv[1])
app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=os.environ["DATABASE_URL"], max_size=12))


@app.task
async def nothing(n: int) -> None:
    """Does what it says."""


async def main() -> None:
    """Defers the jobs, and works them off."""
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        for first in range(0, count, 1000):
            await nothing.batch_defer_async(*({"n": n} for n in range(first, min(first + 1000, count))))
        begun = time.perf_counter()
        await app.run_worker_async(wait=False, concurrency=10, install_signal_handlers=False)
        seconds = time.perf_counter() - begun
        left = sum(1 for job in await app.job_manager.list_jobs_async() if job.status != "succeeded")
    print(json.dumps({"seconds": seconds, "left": left}))


logging.disable()
asyncio.run(main())
