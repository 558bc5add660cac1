        /*
        One claim at a time, to the end of its transaction: which items are the first of their groups is not decided
        by two at once. It comes before the locks of items, so that nobody waits for it who holds one. It is a row, since
        only who may claim can lock it through here.
        */
        SELECT @_Locked = COUNT(*)
        FROM {{ object("QueueTurn") }} AS t WITH (UPDLOCK, ROWLOCK)
        WHERE t.[Queue] = '{{ queue }}';
        IF @_Locked = 0
            THROW 50014, N'{{ queue }}: its row in QueueTurn is gone; install the queue again.', 1;
