        /*
        One claim at a time, to the end of its transaction: which items are the first of their groups is not decided
        by two at once. It comes before the locks of rows, so that nobody waits for it who holds one.
        */
        EXECUTE @Locked = sp_getapplock
            @Resource = {{ text("readpast/claim/" ~ schema ~ "." ~ queue) }}, @LockMode = 'Exclusive',
            @LockOwner = 'Transaction';
        IF @Locked < 0
            THROW 50013, N'{{ queue }}: another claim did not end in time.', 1;
