"use strict";

// The caller's own transaction over pg: each test on each kind of table. The server is that of PGHOST and so on.

const assert = require("node:assert/strict");
const { randomUUID } = require("node:crypto");
const { test } = require("node:test");
const { Client } = require("pg");
const { LostError, enqueue, transfer } = require("./transfer");

const TABLES = { transfer: "readpast.transfer", notice: "readpast.notices" };

async function opened() {
  const client = new Client();
  // A connection that a test cuts reports it besides.
  client.on("error", () => {});
  await client.connect();
  return client;
}

/** The first column, as another connection sees it. */
async function seen(query, ...values) {
  const other = await opened();
  try {
    return (await other.query({ text: query, values, rowMode: "array" })).rows.map((row) => row[0]);
  } finally {
    await other.end();
  }
}

const works = (name) => seen(`SELECT work FROM ${TABLES[name]} ORDER BY work`);

/** Runs a test without items, and with an account of 100. */
function each(title, run, names = Object.keys(TABLES)) {
  for (const name of names) {
    test(`${title}, ${name}`, async () => {
      const client = await opened();
      try {
        await client.query("DROP TABLE IF EXISTS account");
        await client.query("CREATE TABLE account (id integer PRIMARY KEY, balance integer NOT NULL)");
        await client.query("INSERT INTO account VALUES (1, 100)");
        for (const table of Object.values(TABLES)) await client.query(`DELETE FROM ${table}`);
        await run(client, name);
      } finally {
        await client.end();
      }
    });
  }
}

each("items are there with the commit", async (client, name) => {
  await client.query("BEGIN");
  const answers = await enqueue(client, name, [{ amount: 1, work: "100 % \u00e9" }, { work: "b" }]);
  assert.deepEqual(await works(name), []);
  await client.query("COMMIT");
  assert.deepEqual(await works(name), ["100 % \u00e9", "b"]);
  assert.deepEqual(answers.map(({ answer }) => answer), ["OK", "OK"]);
});

each("a rollback leaves nothing", async (client, name) => {
  await client.query("BEGIN");
  await client.query("UPDATE account SET balance = 0");
  await enqueue(client, name, [{ work: "a" }]);
  await client.query("ROLLBACK");
  assert.deepEqual(await works(name), []);
  assert.deepEqual(await seen("SELECT balance FROM account"), [100]);
});

each("an error goes back to the savepoint", async (client, name) => {
  await client.query("BEGIN");
  await enqueue(client, name, [{ work: "kept" }]);
  await client.query("SAVEPOINT here");
  await assert.rejects(enqueue(client, name, [{ work: "a" }, { amounts: 1 }]), { code: "RP021" });
  await client.query("ROLLBACK TO SAVEPOINT here");
  await client.query("COMMIT");
  assert.deepEqual(await works(name), ["kept"]);
});

each("a duplicate is an answer and has the key of the first", async (client, name) => {
  const [first] = await enqueue(client, name, [{ work: "a" }]);
  const answers = await enqueue(client, name, [{ work: "a" }, { work: "b" }, { work: "b" }]);
  assert.deepEqual(answers.map(({ answer }) => answer), ["DUPLICATE", "OK", "DUPLICATE"]);
  assert.equal(answers[0].key, first.key);
});

each("an operation makes a call that can be repeated", async (client, name) => {
  const operation = randomUUID();
  const cut = await opened();
  await cut.query("BEGIN");
  await enqueue(cut, name, [{ work: "a" }], operation);
  await client.query("SELECT pg_terminate_backend($1)", [cut.processID]);
  await assert.rejects(cut.query("COMMIT"));
  await cut.end();
  const answers = [];
  for (let i = 0; i < 2; i++) {
    await client.query("BEGIN");
    answers.push(await enqueue(client, name, [{ work: "a" }], operation));
    await client.query("COMMIT");
  }
  assert.deepEqual(answers[1], answers[0]);
  assert.deepEqual(await works(name), ["a"]);
});

const page = (title, run) => each(title, run, ["transfer"]);

page("the lines on the page work", async (client) => {
  assert.equal(await transfer(client, "me"), false);
  await enqueue(client, "transfer", [{ amount: 10 }]);
  assert.equal(await transfer(client, "me"), true);
  assert.deepEqual(await seen("SELECT status::text FROM readpast.transfer"), ["Completed"]);
  assert.deepEqual(await seen("SELECT balance FROM account"), [90]);
  assert.deepEqual(await seen("SELECT amount FROM readpast.notices"), [10]);
});

page("the lines on the page undo the work on an item that was lost", async (client) => {
  await enqueue(client, "transfer", [{ amount: 10 }]);
  const holder = await opened();
  await holder.query("BEGIN");
  await holder.query("SELECT 1 FROM account FOR UPDATE");
  const lost = assert.rejects(transfer(client, "me"), LostError);
  // It is at its work: an operator cancels the item under its hands.
  const waits = "SELECT 1 FROM pg_locks WHERE NOT granted AND pid = $1";
  const end = Date.now() + 600_000;
  while ((await seen(waits, client.processID)).length === 0) assert.ok(Date.now() < end);
  await seen("SELECT readpast.modify_transfer_trx(enqueued_at, updated_at, 'Cancelled') FROM readpast.transfer");
  await holder.query("ROLLBACK");
  await lost;
  assert.deepEqual(await seen("SELECT status::text FROM readpast.transfer"), ["Cancelled"]);
  assert.deepEqual(await seen("SELECT balance FROM account"), [100]);
  assert.deepEqual(await works("notice"), []);
  await holder.end();
});
