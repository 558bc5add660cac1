{#- Whatever is due, of all kinds. -#}
{%- import "macro/take_due.sql" as take %}
{%- if shards %}
        /*
        The shards once around, from the one whose turn it is: claims that come at the same moment begin at different heads,
        and of {{ shards }} claims in succession each shard is the first of one, so that none is left waiting. The next one is
        asked only while there is not enough.
        */
        SET @_ShardTurn = NEXT VALUE FOR {{ object(queue ~ "_ShardTurn") }};
        SET @_Shard = @_ShardTurn % {{ shards }};
        WHILE @_Locked < @Max AND @_Asked < {{ shards }}
        BEGIN
            SET @_Take = @Max - @_Locked;
{{- take.due("past") | indent(4, true) }}
            SET @_Locked = @_Locked + @@ROWCOUNT;
            SET @_Asked = @_Asked + 1;
            SET @_Shard = (@_Shard + 1) % {{ shards }};
        END;
{%- else %}
{%- for when_due in kind.whens(t, role) | split(" ") %}
{%- if loop.first %}
{{- take.due(when_due) }}
        SET @_Locked = @@ROWCOUNT;
{%- else %}

        SET @_Take = @Max - @_Locked;
        IF @_Take > 0
        BEGIN
{{- take.due(when_due) | indent(4, true) }}
            SET @_Locked = @_Locked + @@ROWCOUNT;
        END;
{%- endif %}
{%- endfor %}
{%- endif %}
