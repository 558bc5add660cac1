            AND (statuses_ IS NULL OR q.status = ANY(statuses_))
            AND (types_ IS NULL OR q.type = ANY(types_))
            AND (before_ IS NULL OR q.updated_at < before_)
            AND (since_ IS NULL OR q.updated_at >= since_)
            /* Found as it stands: nothing in it is a wildcard. */
            AND (part_ IS NULL OR STRPOS(q.error, part_) > 0)
