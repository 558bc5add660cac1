{%- if limits %}
{%- import "macro/item.sql" as m -%}
{%- for l in limits %}
{%- set function = object("limit_" ~ queue ~ "_" ~ l.nth) -%}
{% filter made("FUNCTION", "limit_" ~ queue ~ "_" ~ l.nth) %}
/*
{%- if l.by %}
The limit by {{ l.name }} for one of its keys: how many may be in work and are (no more are counted), the rate, and how many may begin now:
the room. free_at is when time makes room: by the rate, or at the end of a change; NULL where it does not.
{%- else %}
The limit of all items, as those by a column; key_ is ''.
{%- endif %}
An item in work counts until it has ended, or a recovery has given it back. Called by claims, after they have taken their turn, and by limits_{{ queue }}.
Table access order: queue_limit, {{ queue ~ "_lease" if beside else table_name }}.
*/
CREATE OR REPLACE FUNCTION {{ function }}(key_ text, now_ timestamptz)
RETURNS TABLE (
    at_once integer, in_work integer, rate integer, rate_ms bigint, burst integer, tokens double precision, room integer, free_at timestamptz
)
LANGUAGE plpgsql STABLE SECURITY INVOKER
AS $$
#variable_conflict use_column
DECLARE
    every_ {{ object("queue_limit") }};
    its_ {{ object("queue_limit") }};
    most_ integer;
BEGIN
    SELECT l.* INTO every_ FROM {{ object("queue_limit") }} AS l WHERE l.queue = '{{ queue }}' AND l.by = {{ text(l.name or "") }} AND l.key = '';
    SELECT l.* INTO its_ FROM {{ object("queue_limit") }} AS l WHERE l.queue = '{{ queue }}' AND l.by = {{ text(l.name or "") }} AND l.key = key_;
    /* Changes that are over. */
    IF every_.until <= now_ THEN
        every_.until := NULL; every_.at_once := NULL;{{ " every_.rate := NULL; every_.rate_ms := NULL; every_.burst := NULL;" if l.rate }}
    END IF;
    IF its_.until <= now_ THEN
        its_.until := NULL; its_.at_once := NULL;{{ " its_.rate := NULL;" if l.rate }}
    END IF;
    most_ := COALESCE(its_.at_once, every_.at_once{{ ", " ~ l.at_once if l.at_once }});
{%- if l.tiers %}
    /* By the item that is due first. */
    IF most_ IS NULL THEN
        most_ := (
            SELECT
                CASE q.{{ l.tiers.from }}::text
{%- for tier in l.tiers.numbers %}
                    WHEN {{ text(tier.value) }} THEN {{ tier.number }}
{%- endfor %}
                    ELSE {{ l.tiers.least }}
                END
            FROM {{ table }} AS q
            WHERE
                {{ m.limit_key(l) }} = key_
                AND {{ m.waiting() }}
            ORDER BY {{ m.by_due() }}
            LIMIT 1
        );
    END IF;
{%- endif %}
    at_once := most_;
    in_work := 0;
    IF most_ IS NOT NULL THEN
        /* No more are counted than it takes. */
        in_work := (
            SELECT {{ "LEAST(COALESCE(SUM(w.weight), 0), 2147483647)::integer" if l.weight else "COUNT(*)" }}
            FROM (
                SELECT {{ m.weighs("q.weight_" ~ l.nth if beside else "q." ~ l.weight.quoted, "most_") ~ " AS weight" if l.weight else "1" }}
                FROM {{ m.in_work() }}
                WHERE
                    {{ m.is_in_work() }}
{%- if l.by %}
                    AND {{ m.in_work_key(l) }} = key_
{%- endif %}
                LIMIT most_
            ) AS w
        );
    END IF;
{%- if l.rate %}
    IF its_.rate IS NULL THEN
        its_.rate := COALESCE(every_.rate, {{ l.rate }});
        its_.rate_ms := COALESCE(every_.rate_ms, {{ l.rate_ms }});
        its_.burst := COALESCE(every_.burst, {{ l.burst }});
    END IF;
    rate := its_.rate;
    rate_ms := its_.rate_ms;
    burst := its_.burst;
    /* A clock that went back takes nothing away. */
    tokens := LEAST(
        burst,
        COALESCE(its_.tokens, burst)
        + COALESCE(GREATEST(EXTRACT(EPOCH FROM now_ - its_.tokens_at)::double precision, 0) * 1000 * rate / rate_ms, 0)
    );
    IF tokens < 1 THEN
        free_at := now_ + CEIL((1 - tokens) * rate_ms / rate) * interval '1 millisecond';
    END IF;
{%- endif %}
    room := GREATEST(LEAST(COALESCE(most_ - in_work, 2147483647){{ ", FLOOR(tokens)::integer" if l.rate }}), 0);
    IF room = 0 THEN
        free_at := LEAST(free_at, every_.until, its_.until);
    END IF;
    RETURN NEXT;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ function }}(text, timestamptz) FROM public;
{% endfilter %}
{%- endfor %}
{%- set function = object("room_" ~ queue) -%}
{% filter made("FUNCTION", "room_" ~ queue) %}
/*
How much a claim of max_ items may begin: most of all.{% if sought %} keys are values of {{ sought.name }} of which something is due and rooms how much of
each may begin: from the one behind the last that had its turn in this session, once around, until most (at most a hundred) have room; '' stands for items
without one, which are not limited by it. Each costs a few seeks, however much waits. After a thousand without room it leaves off, with a
time at which to go on.{% endif %}{% if filters %} Keys of other limits that have no room are in blocked_<n>.{% endif %} until is when time makes room for the next one. Called by claims, in
their turn, and by watch_{{ queue }}, which only looks (only_looks_) and takes none.
Table access order: {{ table_name }}, queue_limit{{ ", " ~ queue ~ "_lease" if beside }}.
*/
CREATE OR REPLACE FUNCTION {{ function }}(max_ integer, now_ timestamptz, only_looks_ boolean)
RETURNS TABLE (most integer, until timestamptz{{ ", keys text[], rooms integer[]" if sought }}{% for l in filters %}, blocked_{{ l.nth }} text[]{% endfor %})
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
AS $$
#variable_conflict use_column
DECLARE
{%- if sought %}
    from_ text;
    at_ text;
    last_ text;
    room_ integer;
{%- endif %}
{%- if sought or filters %}
    free_at_ timestamptz;
{%- endif %}
{%- if sought %}
    looks_ integer := 1000;
    keys_ text[] := '{}';
    rooms_ integer[] := '{}';
{%- endif %}
    most_ integer := max_;
    until_ timestamptz;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'a claim within limits counts what is in work now, which a transaction of this level does not see: use READ COMMITTED'
        USING ERRCODE = 'RP021';
    END IF;
{%- for l in limits if not l.by %}
    SELECT LEAST(max_, l.room), l.free_at
    INTO most_, until_
    FROM {{ object("limit_" ~ queue ~ "_" ~ l.nth) }}('', now_) AS l;
{%- endfor %}
{%- if sought %}
    /* Kept in the session: a row that each claim changes would grow dead versions, which nothing removes beside a long transaction. */
    from_ := COALESCE(NULLIF(current_setting('readpast.limit_{{ queue }}', TRUE), ''), md5(random()::text));
    at_ := from_;
    <<around>>
    FOR round_ IN 1..2 LOOP
        IF round_ = 2 THEN
            at_ := NULL;
        END IF;
        LOOP
            EXIT around WHEN CARDINALITY(keys_) >= LEAST(most_, 100) OR looks_ = 0;
            IF at_ IS NULL THEN
                at_ := '';
            ELSE
                at_ := (
                    SELECT {{ m.limit_key(sought) }}
                    FROM {{ table }} AS q
                    WHERE
                        {{ m.waiting() }}
                        AND {{ m.limit_key(sought) }} > at_
                    ORDER BY {{ m.limit_key(sought) }}
                    LIMIT 1
                );
                EXIT WHEN at_ IS NULL OR (round_ = 2 AND at_ > from_ COLLATE "C");
            END IF;
            PERFORM
            FROM {{ table }} AS q
            WHERE
                {{ m.limit_key(sought) }} = at_
                AND {{ m.waiting() }}
{%- if role.due %}
                AND {{ m.is_due() }}
{%- endif %}
            ORDER BY {{ m.by_due() }}
            LIMIT 1;
            CONTINUE WHEN NOT FOUND;
            last_ := at_;
            looks_ := looks_ - 1;
            room_ := most_;
            IF at_ <> '' THEN
                SELECT LEAST(l.room, most_), l.free_at
                INTO room_, free_at_
                FROM {{ object("limit_" ~ queue ~ "_" ~ sought.nth) }}(at_, now_) AS l;
                until_ := LEAST(until_, free_at_);
            END IF;
            IF room_ > 0 THEN
                keys_ := keys_ || at_;
                rooms_ := rooms_ || room_;
            END IF;
        END LOOP;
    END LOOP around;
    IF looks_ = 0 THEN
        until_ := now_ + interval '100 milliseconds';
    END IF;
    PERFORM set_config('readpast.limit_{{ queue }}', last_, FALSE) WHERE last_ IS NOT NULL AND NOT only_looks_;
    keys := keys_;
    rooms := rooms_;
{%- endif %}
{%- for l in filters %}
    SELECT COALESCE(ARRAY_AGG(k.key), '{}'), MIN(r.free_at)
    INTO blocked_{{ l.nth }}, free_at_
    FROM (
        SELECT {{ m.in_work_key(l) }} AS key
        FROM {{ m.in_work() }}
        WHERE {{ m.is_in_work() }}
        UNION
        SELECT x.key
        FROM {{ object("queue_limit") }} AS x
        WHERE x.queue = '{{ queue }}' AND x.by = {{ text(l.name) }}
    ) AS k
    CROSS JOIN LATERAL {{ object("limit_" ~ queue ~ "_" ~ l.nth) }}(k.key, now_) AS r
    WHERE k.key <> '' AND r.room < 1;
    until_ := LEAST(until_, free_at_);
{%- endfor %}
    most := most_;
    until := until_;
    RETURN NEXT;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ function }}(integer, timestamptz, boolean) FROM public;
{% endfilter %}
{%- if limits | selectattr("rate") | list %}
{%- set function = object("spend_" ~ queue) -%}
{%- set begun -%}
{%- if beside %}q.status = 'Processing' AND q.started_at BETWEEN now_ AND now_ AND q.lease_owner = worker_
{%- elif own %}{{ m.stands(processing) }} AND q.{{ role.started }} BETWEEN now_ AND now_ AND q.{{ role.owner }} = worker_
{%- else %}{{ m.stands(processing) }} AND q.{{ role.started }} BETWEEN started_ AND started_ AND q.{{ role.owner }}::text = worker_
{%- endif %}
{%- endset -%}
{% filter made("FUNCTION", "spend_" ~ queue) %}
/*
The starts of the claim at now_ by worker_ count against the rates. Called by claims, in their turn.
Table access order: {{ queue ~ "_lease" if beside else table_name }}, queue_limit.
*/
CREATE OR REPLACE FUNCTION {{ function }}(worker_ text, now_ timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
AS $$
{%- if not own and not beside %}
DECLARE
    /* As the column keeps it. */
    started_ CONSTANT {{ table }}.{{ role.started }}%TYPE := now_;
{%- endif %}
BEGIN
{%- for l in limits if l.rate %}
    INSERT INTO {{ object("queue_limit") }} AS x (queue, by, key, has_rate, tokens, tokens_at, full_at)
    SELECT '{{ queue }}', {{ text(l.name or "") }}, t.key, TRUE, r.tokens - t.items, now_,
        now_ + (r.burst - r.tokens + t.items) * r.rate_ms / r.rate * interval '1 millisecond'
    FROM (
        SELECT {{ m.in_work_key(l) if l.by else "''" }} AS key, COUNT(*) AS items
        FROM {{ m.in_work() }}
        WHERE {{ begun }}
        GROUP BY 1
    ) AS t
    CROSS JOIN LATERAL {{ object("limit_" ~ queue ~ "_" ~ l.nth) }}(t.key, now_) AS r
{%- if l.by %}
    WHERE t.key <> ''
{%- endif %}
    ON CONFLICT (queue, by, key) DO UPDATE SET tokens = excluded.tokens, tokens_at = excluded.tokens_at, full_at = excluded.full_at;
{%- if l.by %}
    /* A key that has all of its starts again is as one that was never used: a few of those behind, each time. */
    DELETE FROM {{ object("queue_limit") }} AS x
    USING (
        SELECT l.key
        FROM {{ object("queue_limit") }} AS l
        WHERE
            l.queue = '{{ queue }}' AND l.by = {{ text(l.name) }}
            AND l.key > (
                SELECT {{ m.in_work_key(l) }}
                FROM {{ m.in_work() }}
                WHERE {{ begun }}
                LIMIT 1
            )
        ORDER BY l.key
        LIMIT 20
    ) AS n
    WHERE
        x.queue = '{{ queue }}' AND x.by = {{ text(l.name) }} AND x.key = n.key
        AND (x.set_at IS NULL OR x.until <= now_) AND x.full_at <= now_;
{%- endif %}
{%- endfor %}
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ function }}(text, timestamptz) FROM public;
{% endfilter %}
{%- endif %}
{%- set procedure = "limits_" ~ queue -%}
{% filter made("FUNCTION", procedure) %}
/*
The limits of {{ queue }}: for each the row of all its keys (key is ''), in which in_work counts all items, and rows of the keys that are in
work, or have limits of their own, or have begun something at the rate: at most 1,000, most in work first. who, reason, set_at and until are of
the last change; NULL: it is as the description says, and until also where no time ends it.
Table access order: {{ queue ~ "_lease" if beside else table_name }}, queue_limit.
*/
CREATE OR REPLACE FUNCTION {{ object(procedure) }}()
RETURNS TABLE (
    by text, key text, at_once integer, in_work bigint, rate integer, rate_ms bigint, burst integer, tokens double precision,
    free_at timestamptz, who text, reason text, set_at timestamptz, until timestamptz
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
BEGIN
{%- for l in limits %}
    RETURN QUERY
    SELECT
        {{ text(l.name or "") }}, k.key, r.at_once, {{ "CASE WHEN k.key = '' THEN k.in_work ELSE r.in_work END" if l.weight else "k.in_work" }}, r.rate, r.rate_ms, r.burst, r.tokens, r.free_at, l.who, l.reason, l.set_at, l.until
    FROM (
        SELECT k.key, SUM(k.in_work)::bigint AS in_work
        FROM (
            SELECT '' AS key, COUNT(*) AS in_work
            FROM {{ m.in_work() }}
            WHERE {{ m.is_in_work() }}
{%- if l.by %}
            UNION ALL
            SELECT {{ m.in_work_key(l) }}, COUNT(*)
            FROM {{ m.in_work() }}
            WHERE
                {{ m.is_in_work() }}
                AND {{ m.in_work_key(l) }} <> ''
            GROUP BY 1
            UNION ALL
            SELECT l.key, 0
            FROM {{ object("queue_limit") }} AS l
            WHERE l.queue = '{{ queue }}' AND l.by = {{ text(l.name) }} AND l.key <> ''
{%- endif %}
        ) AS k
        GROUP BY k.key
        ORDER BY k.key = '' DESC, in_work DESC, k.key
        LIMIT 1001
    ) AS k
    CROSS JOIN LATERAL {{ object("limit_" ~ queue ~ "_" ~ l.nth) }}(k.key, now_) AS r
    LEFT JOIN {{ object("queue_limit") }} AS l
        ON l.queue = '{{ queue }}' AND l.by = {{ text(l.name or "") }} AND l.key = k.key AND COALESCE(l.until > now_, TRUE)
    ORDER BY k.key = '' DESC, k.in_work DESC, k.key;
{%- endfor %}
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object(procedure) }}() FROM public;
{% endfilter %}
{%- set procedure = "limit_" ~ queue ~ "_trx" -%}
{% filter made("FUNCTION", procedure) %}
/*
Changes a limit of {{ queue }} from the next claim on, by_ naming its column ('' is the limit of all items): of all keys, or of key_ alone.
at_once_ 0: nothing begins. A rate (rate_ starts in rate_ms_, burst_ of them at once, or all of them) only where the description has one. What
is NULL stays as it is described; all NULL: back to the description, as after for_ms_, or at until_. Less takes effect as items end.
Table access order: queue_limit, queue_sleeper.
*/
CREATE OR REPLACE FUNCTION {{ object(procedure) }}(
    by_ text, key_ text, at_once_ integer, rate_ integer, rate_ms_ bigint, burst_ integer, until_ timestamptz, for_ms_ bigint, who_ text, reason_ text
)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
    end_ CONSTANT timestamptz := COALESCE(until_, now_ + for_ms_ * interval '1 millisecond');
    rated_ boolean;
    wrong_ text;
BEGIN
    by_ := COALESCE(by_, '');
    key_ := COALESCE(key_, '');
    SELECT l.has_rate INTO rated_ FROM {{ object("queue_limit") }} AS l WHERE l.queue = '{{ queue }}' AND l.by = by_ AND l.key = '';
    wrong_ := CASE
        WHEN NOT FOUND THEN 'there is no limit by ' || by_
        WHEN COALESCE(who_, '') = '' THEN 'who_ is empty'
        WHEN key_ <> '' AND by_ = '' THEN 'the limit of all items has no keys'
        WHEN LENGTH(key_) > 300 THEN 'key_ is longer than 300 characters'
        WHEN at_once_ < 0 OR at_once_ > 1000000 THEN 'at_once_ is from 0 to 1,000,000'
        WHEN rate_ IS NOT NULL AND NOT rated_ THEN 'the description gives this limit no rate to change'
        WHEN (rate_ IS NULL) <> (rate_ms_ IS NULL) OR (burst_ IS NOT NULL AND rate_ IS NULL) THEN 'rate_ and rate_ms_ go together, and burst_ with them'
        WHEN rate_ NOT BETWEEN 1 AND 1000000 OR burst_ NOT BETWEEN 1 AND 1000000 THEN 'rate_ and burst_ are from 1 to 1,000,000'
        WHEN rate_ms_ NOT BETWEEN 1 AND 86400000 THEN 'rate_ms_ is from 1 to 86,400,000'
        WHEN end_ <= now_ OR NOT isfinite(end_) THEN 'the change must end in the future'
    END;
    IF wrong_ IS NOT NULL THEN
        RAISE EXCEPTION '{{ procedure }}: %', wrong_ USING ERRCODE = 'RP021';
    END IF;
    INSERT INTO {{ object("queue_limit") }} AS l (queue, by, key, has_rate, at_once, rate, rate_ms, burst, who, login, reason, set_at, until)
    VALUES (
        '{{ queue }}', by_, key_, rated_, at_once_, rate_, rate_ms_, COALESCE(burst_, rate_), LEFT(who_, 200), session_user,
        NULLIF(LEFT(reason_, 400), ''), now_, end_
    )
    ON CONFLICT (queue, by, key) DO UPDATE
    SET
        at_once = excluded.at_once, rate = excluded.rate, rate_ms = excluded.rate_ms, burst = excluded.burst, who = excluded.who,
        login = excluded.login, reason = excluded.reason, set_at = excluded.set_at, until = excluded.until;
    IF at_once_ IS NULL AND rate_ IS NULL THEN
        /* Back to the description; what the rate has left stays. */
        UPDATE {{ object("queue_limit") }} AS l
        SET who = NULL, login = NULL, reason = NULL, set_at = NULL, until = NULL
        WHERE l.queue = '{{ queue }}' AND l.by = by_ AND l.key = key_;
        DELETE FROM {{ object("queue_limit") }} AS l
        WHERE l.queue = '{{ queue }}' AND l.by = by_ AND l.key = key_ AND l.key <> '' AND l.tokens IS NULL;
    END IF;
    /* Those that are over. */
    DELETE FROM {{ object("queue_limit") }} AS l
    WHERE l.queue = '{{ queue }}' AND l.key <> '' AND l.until <= now_ AND l.tokens IS NULL;
    PERFORM {{ object("queue_ring") }}(s.queue)
    FROM (SELECT r.queue FROM {{ object("queue_sleeper") }} AS r WHERE r.queue = '{{ queue }}') AS s;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object(procedure) }}(text, text, integer, integer, bigint, integer, timestamptz, bigint, text, text) FROM public;
{% endfilter %}
{% filter statement %}
/* The limits of the description; changes of those that go end with them. */
DELETE FROM {{ object("queue_limit") }} AS l
WHERE l.queue = '{{ queue }}' AND l.by NOT IN ({% for l in limits %}{{ text(l.name or "") }}{{ ", " if not loop.last }}{% endfor %});
{% endfilter %}
{%- for l in limits %}
{% filter statement %}
INSERT INTO {{ object("queue_limit") }} (queue, by, key, has_rate)
VALUES ('{{ queue }}', {{ text(l.name or "") }}, '', {{ l.rate | bool | upper }})
ON CONFLICT (queue, by, key) DO UPDATE SET has_rate = excluded.has_rate;
{% endfilter %}
{%- endfor %}
{%- endif %}
