{%- set function = object("find_" ~ queue) -%}
{%- set procedure = "find_" ~ queue -%}
/*
The items that fit filter_, in the order of their keys, after the key after_ on, at most max_ of them: a page, and the
last key of it begins the next one. filter_ is a JSON object, of which every member narrows the choice: keys, status and
types (arrays), before and after (UTC, of the last change), error (a part of its text). NULL is all items.
One row per item, with the answer FOUND. It changes nothing and locks nothing. Without keys it reads the table in order
until the page is full.
Table access order: {{ queue }}.
*/
CREATE OR REPLACE FUNCTION {{ function }}(
    filter_ json DEFAULT NULL, after_ text DEFAULT NULL, max_ integer DEFAULT 100
)
RETURNS TABLE (
{% include "relational/_answer_columns.sql" %}
)
{% include "relational/_attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
    from_ CONSTANT timestamptz := COALESCE(NULLIF(after_, ''), '-infinity');
{% include "relational/_filter_variables.sql" %}
BEGIN
{% include "relational/_filter.sql" %}
    IF keys_ IS NULL THEN
        RETURN QUERY
        SELECT
            'FOUND', NULL::integer, NULL::bigint, q.enqueued_at, q.updated_at, q.attempt_num, q.status,
{% include "relational/_item_columns.sql" %}
        FROM {{ object("worker_" ~ queue ~ "_v") }} AS q
        WHERE
            q.enqueued_at > from_
{% include "relational/_fits.sql" %}
        ORDER BY q.enqueued_at
        LIMIT max_;
    ELSE
        RETURN QUERY
        SELECT
            'FOUND', NULL::integer, NULL::bigint, q.enqueued_at, q.updated_at, q.attempt_num, q.status,
{% include "relational/_item_columns.sql" %}
        FROM UNNEST(keys_) AS k (key)
        INNER JOIN {{ object("worker_" ~ queue ~ "_v") }} AS q
            ON q.enqueued_at BETWEEN k.key AND k.key
        WHERE
            q.enqueued_at > from_
{% include "relational/_fits.sql" %}
        ORDER BY q.enqueued_at
        LIMIT max_;
    END IF;
END;
$$;
GO
REVOKE ALL ON FUNCTION {{ function }}(json, text, integer) FROM public;
GO
