    IF @@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0
        THROW 50012, N'{{ procedure }} works inside the transaction of its caller; begin one first.', 1;
