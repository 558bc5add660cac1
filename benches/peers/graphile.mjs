// Jobs that do nothing through graphile-worker, 10 at once: plain, or with its local queue and batched completions.
//
//   DATABASE_URL=postgres://... node graphile.mjs plain|localQueue COUNT
import { run, runMigrations, Logger } from "graphile-worker";
import pg from "pg";
import { begin, finish } from "./clock.mjs";

const [variant, given] = process.argv.slice(2);
const count = Number(given);
const connectionString = process.env.DATABASE_URL;
const logger = new Logger(() => () => {});
// As its own performance tests have it.
const batching = { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };
const preset = {
  worker: { connectionString, concurrentJobs: 10, logger, ...(variant === "localQueue" ? batching : {}) },
};

const pool = new pg.Pool({ connectionString });
await runMigrations({ preset });
await pool.query("select graphile_worker.add_job('nothing', json_build_object('n', n)) from generate_series(1, $1) n", [count]);
await pool.query("vacuum analyze");

let handled = 0;
let runner;
const begun = begin();
await new Promise((resolve) => {
  run({ preset, noHandleSignals: true, taskList: { nothing: () => { if (++handled === count) resolve(); } } }).then((made) => { runner = made; });
});
// The items that were handled last are still being completed; that is work, too. A stop can leave some of it undone.
const pause = () => new Promise((resolve) => setTimeout(resolve, 1));
const waiting = async () => Number((await pool.query("select count(*) from graphile_worker.jobs")).rows[0].count);
let left = await waiting();
while (left > 0 && finish(begun) < 600) {
  await pause();
  left = await waiting();
}
const seconds = finish(begun);
while (!runner) await pause();
await runner.stop();
await pool.end();
console.log(JSON.stringify({ seconds, left }));
