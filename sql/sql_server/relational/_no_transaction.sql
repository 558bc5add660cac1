    IF @@TRANCOUNT > 0
        THROW 50012, N'{{ procedure }} commits its own work and must not be called inside a transaction.', 1;
