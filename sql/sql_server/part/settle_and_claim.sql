{%- if group or limits %}
        /* The turn of the queue comes before the locks of items. */
        IF @Max > 0
            EXECUTE {{ object("QueueTurnTake") }} '{{ queue }}';
{%- endif %}
        EXECUTE {{ object(queue ~ "_Settle") }}
            @Operation = @Operation, @Worker = @Worker, @LeaseMs = @LeaseMs, @Items = @Items{{ ", @StartedAt = @StartedAt" if run_time }}, @IsNew = @_IsNew OUTPUT;
        IF @Max > 0 AND @_IsNew = 1
            EXECUTE {{ object(queue ~ "_Claim") }}
                @Worker = @Worker, @Max = @Max, @LeaseMs = @LeaseMs, @Recover = @Recover, @Within = 2
                {%- include "part/claim_more.sql" %};
