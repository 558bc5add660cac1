SELECT q.queue, q.preset, q.spec, q.rendered_by FROM {{ object("queue_spec") }} AS q ORDER BY q.queue
