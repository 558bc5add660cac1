"use strict";

// A Date of JavaScript's has milliseconds alone: keys and tokens stay text.
const CLAIM = `SELECT answer_key::text AS key, answer_token::text AS token, answer_attempt AS attempt, amount
  FROM readpast.next_transfer_set_trx($1, 1) WHERE answer_key IS NOT NULL`;
const PAY = "UPDATE account SET balance = balance - $1 WHERE id = 1";
const SETTLE = `SELECT answer FROM readpast.modify_transfer_utx($1::timestamptz, $2::timestamptz, 'Completed',
  worker_ => $3, attempt_num_ => $4)`;

/** Somebody else has the item now: our work is undone. */
class LostError extends Error {}

/**
 * Enqueues in the transaction of a client, at most 1,000 items. Resolves to the answer and the key of each. The queue's name is
 * part of the SQL: never a text from elsewhere. An operation, a UUID, makes a call that can be repeated: after the commit it
 * adds nothing, and the answers are the same.
 */
async function enqueue(client, queue, items, operation = null) {
  const query = `SELECT answer, answer_key::text AS key FROM readpast.add_${queue}_set_utx($1, $2) ORDER BY answer_ordinal`;
  const json = JSON.stringify(items.map((columns) => ({ columns })));
  return (await client.query(query, [json, operation])).rows;
}

/** Resolves to whether an item was due and is done. The claim is a transaction of its own. */
async function transfer(client, worker) {
  const [item] = (await client.query(CLAIM, [worker])).rows;
  if (!item) return false;
  await client.query("BEGIN");
  try {
    await client.query(PAY, [item.amount]);
    await enqueue(client, "notice", [{ amount: item.amount }]);
    const settled = await client.query(SETTLE, [item.key, item.token, worker, item.attempt]);
    if (settled.rows[0].answer !== "OK") throw new LostError(settled.rows[0].answer);
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK");
    throw error;
  }
  return true;
}

module.exports = { LostError, enqueue, transfer };
