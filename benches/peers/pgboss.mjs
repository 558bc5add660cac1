// Jobs that do nothing through pg-boss: ten loops that fetch and complete so many at a time.
//
//   DATABASE_URL=postgres://... node pgboss.mjs BATCH_SIZE COUNT
import PgBoss from "pg-boss";
import { begin, finish } from "./clock.mjs";

const [batchSize, count] = process.argv.slice(2).map(Number);
const boss = new PgBoss({ connectionString: process.env.DATABASE_URL, max: 10, supervise: false, schedule: false });
boss.on("error", (error) => { throw error; });
await boss.start();
await boss.createQueue("bench");
for (let at = 0; at < count; at += 1000)
  await boss.insert(Array.from({ length: Math.min(1000, count - at) }, (_, n) => ({ name: "bench", data: { n } })));

let done = 0;
const loop = async () => {
  for (;;) {
    const jobs = await boss.fetch("bench", { batchSize });
    if (jobs.length === 0) return;
    await boss.complete("bench", jobs.map((job) => job.id));
    done += jobs.length;
  }
};
const begun = begin();
await Promise.all(Array.from({ length: 10 }, loop));
const seconds = finish(begun);
await boss.stop({ graceful: false });
console.log(JSON.stringify({ seconds, left: count - done }));
