/*
Rights of each role on Notification. A role needs no right on any table: procedures and the views read and write
with the rights of their owner, who owns the tables too.
*/
IF DATABASE_PRINCIPAL_ID(N'notification_producer') IS NULL
    CREATE ROLE [notification_producer];
GO
GRANT EXECUTE ON [readpast].[QueueCatalog] TO [notification_producer];
GO
IF OBJECT_ID(N'[readpast].[Add_Notification_utx]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Add_Notification_utx] TO [notification_producer];
GO
IF OBJECT_ID(N'[readpast].[Add_Notification_trx]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Add_Notification_trx] TO [notification_producer];
GO
IF OBJECT_ID(N'[readpast].[Add_Notification_Set_utx]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Add_Notification_Set_utx] TO [notification_producer];
GO
IF OBJECT_ID(N'[readpast].[Add_Notification_Set_trx]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Add_Notification_Set_trx] TO [notification_producer];
GO
IF OBJECT_ID(N'[readpast].[QueueIsDone]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[QueueIsDone] TO [notification_producer];
GO
GRANT SELECT ON [readpast].[Producer_Notification_V] TO [notification_producer];
GO
IF DATABASE_PRINCIPAL_ID(N'notification_worker') IS NULL
    CREATE ROLE [notification_worker];
GO
GRANT EXECUTE ON [readpast].[QueueCatalog] TO [notification_worker];
GO
IF OBJECT_ID(N'[readpast].[Next_Notification_utx]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Next_Notification_utx] TO [notification_worker];
GO
IF OBJECT_ID(N'[readpast].[Next_Notification_trx]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Next_Notification_trx] TO [notification_worker];
GO
IF OBJECT_ID(N'[readpast].[Next_Notification_Set_utx]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Next_Notification_Set_utx] TO [notification_worker];
GO
IF OBJECT_ID(N'[readpast].[Next_Notification_Set_trx]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Next_Notification_Set_trx] TO [notification_worker];
GO
IF OBJECT_ID(N'[readpast].[Next_Notification_Apart_trx]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Next_Notification_Apart_trx] TO [notification_worker];
GO
IF OBJECT_ID(N'[readpast].[Modify_Notification_utx]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Modify_Notification_utx] TO [notification_worker];
GO
IF OBJECT_ID(N'[readpast].[Modify_Notification_trx]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Modify_Notification_trx] TO [notification_worker];
GO
IF OBJECT_ID(N'[readpast].[Modify_Notification_Set_utx]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Modify_Notification_Set_utx] TO [notification_worker];
GO
IF OBJECT_ID(N'[readpast].[Modify_Notification_Set_trx]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Modify_Notification_Set_trx] TO [notification_worker];
GO
IF OBJECT_ID(N'[readpast].[Renew_Notification_Set_trx]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Renew_Notification_Set_trx] TO [notification_worker];
GO
IF OBJECT_ID(N'[readpast].[Recover_Notification_trx]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Recover_Notification_trx] TO [notification_worker];
GO
IF OBJECT_ID(N'[readpast].[Retain_Notification_trx]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Retain_Notification_trx] TO [notification_worker];
GO
IF OBJECT_ID(N'[readpast].[Claimed_Notification]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Claimed_Notification] TO [notification_worker];
GO
IF OBJECT_ID(N'[readpast].[QueueIsDone]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[QueueIsDone] TO [notification_worker];
GO
GRANT SELECT ON [readpast].[Worker_Notification_V] TO [notification_worker];
GO
IF DATABASE_PRINCIPAL_ID(N'notification_operator') IS NULL
    CREATE ROLE [notification_operator];
GO
GRANT EXECUTE ON [readpast].[QueueCatalog] TO [notification_operator];
GO
IF OBJECT_ID(N'[readpast].[Add_Notification_utx]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Add_Notification_utx] TO [notification_operator];
GO
IF OBJECT_ID(N'[readpast].[Add_Notification_trx]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Add_Notification_trx] TO [notification_operator];
GO
IF OBJECT_ID(N'[readpast].[Add_Notification_Set_utx]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Add_Notification_Set_utx] TO [notification_operator];
GO
IF OBJECT_ID(N'[readpast].[Add_Notification_Set_trx]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Add_Notification_Set_trx] TO [notification_operator];
GO
IF OBJECT_ID(N'[readpast].[Next_Notification_utx]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Next_Notification_utx] TO [notification_operator];
GO
IF OBJECT_ID(N'[readpast].[Next_Notification_trx]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Next_Notification_trx] TO [notification_operator];
GO
IF OBJECT_ID(N'[readpast].[Next_Notification_Set_utx]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Next_Notification_Set_utx] TO [notification_operator];
GO
IF OBJECT_ID(N'[readpast].[Next_Notification_Set_trx]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Next_Notification_Set_trx] TO [notification_operator];
GO
IF OBJECT_ID(N'[readpast].[Next_Notification_Apart_trx]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Next_Notification_Apart_trx] TO [notification_operator];
GO
IF OBJECT_ID(N'[readpast].[Modify_Notification_utx]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Modify_Notification_utx] TO [notification_operator];
GO
IF OBJECT_ID(N'[readpast].[Modify_Notification_trx]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Modify_Notification_trx] TO [notification_operator];
GO
IF OBJECT_ID(N'[readpast].[Modify_Notification_Set_utx]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Modify_Notification_Set_utx] TO [notification_operator];
GO
IF OBJECT_ID(N'[readpast].[Modify_Notification_Set_trx]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Modify_Notification_Set_trx] TO [notification_operator];
GO
IF OBJECT_ID(N'[readpast].[Renew_Notification_Set_trx]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Renew_Notification_Set_trx] TO [notification_operator];
GO
IF OBJECT_ID(N'[readpast].[Recover_Notification_trx]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Recover_Notification_trx] TO [notification_operator];
GO
IF OBJECT_ID(N'[readpast].[Retain_Notification_trx]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Retain_Notification_trx] TO [notification_operator];
GO
IF OBJECT_ID(N'[readpast].[Claimed_Notification]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Claimed_Notification] TO [notification_operator];
GO
IF OBJECT_ID(N'[readpast].[QueueIsDone]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[QueueIsDone] TO [notification_operator];
GO
IF OBJECT_ID(N'[readpast].[Stats_Notification]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Stats_Notification] TO [notification_operator];
GO
IF OBJECT_ID(N'[readpast].[Watch_Notification]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Watch_Notification] TO [notification_operator];
GO
IF OBJECT_ID(N'[readpast].[Find_Notification]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Find_Notification] TO [notification_operator];
GO
IF OBJECT_ID(N'[readpast].[Redrive_Notification_Set_trx]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Redrive_Notification_Set_trx] TO [notification_operator];
GO
IF OBJECT_ID(N'[readpast].[Purge_Notification_trx]', N'P') IS NOT NULL
    GRANT EXECUTE ON [readpast].[Purge_Notification_trx] TO [notification_operator];
GO
GRANT SELECT ON [readpast].[Worker_Notification_V] TO [notification_operator];
GO
