CREATE OR REPLACE PROCEDURE queue_four()
LANGUAGE plpgsql
AS $$
DECLARE
    worker CONSTANT text := 'queue_four ' || pg_backend_pid();
    claim record;
    item record;
    answer text;
    wrong text;
BEGIN
    LOOP
        SELECT n.item_key, n.item_token INTO claim FROM readpast.next_four_queue_trx(worker) AS n;
        EXIT WHEN NOT FOUND;
        -- A statement of its own: that of the claim sees the item as it was before.
        SELECT w.item_attempt AS attempt, w.reputation INTO item
        FROM readpast.worker_four_queue_v AS w
        WHERE w.id = claim.item_key::bigint;
        COMMIT; -- others see that it is taken

        BEGIN
            INSERT INTO reputation_count (reputation, records)
            SELECT item.reputation, COUNT(*)
            FROM users AS u
            WHERE u.reputation = item.reputation;

            -- The work and the end of its item are committed together.
            SELECT m.answer INTO answer
            FROM readpast.modify_four_queue_utx(
                claim.item_key, claim.item_token, 'Completed', worker_ => worker, attempt_num_ => item.attempt
            ) AS m;
            IF answer <> 'OK' THEN
                RAISE EXCEPTION 'somebody else has the item now';
            END IF;
        EXCEPTION WHEN OTHERS THEN
            -- Tried again until its attempts are spent. Of an item that was lost, the answer says so, and nothing is done.
            wrong := SQLERRM;
            PERFORM readpast.modify_four_queue_utx(
                claim.item_key, claim.item_token, 'Error', error_ => wrong, worker_ => worker,
                attempt_num_ => item.attempt
            );
        END;
        COMMIT;
    END LOOP;
END;
$$;
