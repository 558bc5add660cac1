    IF @@TRANCOUNT > 0
        THROW 50012, N'{{ procedure }} commits its own work: not to be called in a transaction.', 1;
