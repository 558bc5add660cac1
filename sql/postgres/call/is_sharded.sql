SELECT (current_setting('readpast.is_sharded', TRUE) = 'on')::integer AS is_sharded
