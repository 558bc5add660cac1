DECLARE @Queue varchar(40) = ?;
DECLARE @Preset varchar(20) = ?;
DECLARE @Spec nvarchar(max) = ?;
DECLARE @RenderedBy int = ?;
UPDATE {{ object("QueueSpec") }}
SET [Preset] = @Preset, [Spec] = @Spec, [RenderedBy] = @RenderedBy
WHERE [Queue] = @Queue;
IF @@ROWCOUNT = 0
    INSERT INTO {{ object("QueueSpec") }} ([Queue], [Preset], [Spec], [RenderedBy], [InstalledAt])
    VALUES (@Queue, @Preset, @Spec, @RenderedBy, SYSUTCDATETIME());
