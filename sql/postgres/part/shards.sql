{#- In which turns the shards are taken. #}
    /*
    The shards once around, from the one whose turn it is: claims that come at the same moment begin at different heads,
    and of {{ shards }} claims in succession each shard is the first of one, so that none is left waiting. The next one is
    read only while there is not enough.
    */
    turns AS MATERIALIZED (
        SELECT g.shard AS turn, ((shard_turn_ + g.shard) % {{ shards }})::integer AS shard
        FROM {{ m.all_shards() }}
        ORDER BY g.shard
    ),

