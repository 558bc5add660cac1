SELECT
    l.by, l.key, l.at_once, l.in_work, l.rate, l.rate_ms, l.burst, FLOOR(l.tokens)::integer AS starts,
    l.free_at AT TIME ZONE 'UTC' AS free_at, l.who, l.reason, l.set_at AT TIME ZONE 'UTC' AS set_at,
    l.until AT TIME ZONE 'UTC' AS until
FROM {{ object("limits_" ~ queue) }}() AS l
