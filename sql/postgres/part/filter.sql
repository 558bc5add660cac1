    /* A condition with a slip in it must not be passed over: what it was to keep out would be met too. */
    IF json_typeof(filter_) <> 'object' THEN
        RAISE EXCEPTION '{{ procedure }}: filter_ is not a JSON object' USING ERRCODE = 'RP021';
    END IF;
    IF
        EXISTS (
            SELECT 1 FROM json_each(filter_) AS m (name, value)
            WHERE
                m.name NOT IN ('keys', 'status', 'types', 'before', 'after', 'error', 'longer_ms')
                OR json_typeof(m.value) NOT IN (
                    'null',
                    CASE
                        WHEN m.name IN ('keys', 'status', 'types') THEN 'array'
                        WHEN m.name = 'longer_ms' THEN 'number'
                        ELSE 'string'
                    END
                )
        )
        OR EXISTS (SELECT 1 FROM json_object_keys(filter_) AS m (name) GROUP BY m.name HAVING COUNT(*) > 1)
    THEN
        RAISE EXCEPTION
            '{{ procedure }}: filter_ takes keys, status, types (arrays), before, after, error (text), longer_ms (a number), once'
        USING ERRCODE = 'RP021';
    END IF;
    IF json_typeof(filter_ -> 'keys') = 'array' THEN
        keys_ := ARRAY(
            SELECT {{ "k.key" if composite else "k.key::" ~ m.key_given() }}
            FROM json_array_elements{{ "_text" if not composite }}(filter_ -> 'keys') AS k (key)
        );
    END IF;
    IF json_typeof(filter_ -> 'status') = 'array' THEN
        statuses_ := ARRAY(SELECT s.status FROM json_array_elements_text(filter_ -> 'status') AS s (status));
    END IF;
    IF json_typeof(filter_ -> 'types') = 'array' THEN
        types_ := ARRAY(SELECT t.type FROM json_array_elements_text(filter_ -> 'types') AS t (type));
    END IF;
    before_ := filter_ ->> 'before';
    since_ := filter_ ->> 'after';
    part_ := filter_ ->> 'error';
    IF filter_ ->> 'longer_ms' !~ '^[0-9]{1,18}$' THEN
        RAISE EXCEPTION '{{ procedure }}: longer_ms is a whole number of milliseconds' USING ERRCODE = 'RP021';
    END IF;
    longer_ := filter_ ->> 'longer_ms';
    IF CARDINALITY(keys_) > 1000 THEN
        RAISE EXCEPTION '{{ procedure }}: at most 1000 keys a call' USING ERRCODE = 'RP021';
    END IF;
    IF EXISTS (
        SELECT 1 FROM UNNEST(statuses_) AS s (status)
        WHERE NOT EXISTS (SELECT 1 FROM {{ object("queue_status") }} AS k WHERE k.status = s.status)
    )
    THEN
        RAISE EXCEPTION '{{ procedure }}: status names one that there is not' USING ERRCODE = 'RP021';
    END IF;
    IF max_ IS NULL OR max_ < 1 OR max_ > 1000 THEN
        RAISE EXCEPTION '{{ procedure }}: max_ must be from 1 to 1000' USING ERRCODE = 'RP021';
    END IF;
