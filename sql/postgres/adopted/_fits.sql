            AND (statuses_ IS NULL OR v.item_status = ANY(statuses_))
            AND (types_ IS NULL OR v.item_type = ANY(types_))
            AND (before_ IS NULL OR COALESCE(v.item_token, v.item_finished_at, v.item_enqueued_at) < before_)
            AND (since_ IS NULL OR COALESCE(v.item_token, v.item_finished_at, v.item_enqueued_at) >= since_)
            /* Found as it stands: nothing in it is a wildcard. */
            AND (part_ IS NULL OR STRPOS(v.item_error, part_) > 0)
