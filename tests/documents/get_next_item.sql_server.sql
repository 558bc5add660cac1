-- The procedure as the fifth document prints it. What its page has lost is put back: AS, DECLARE and SELECT before the two lists
-- of variables, and the labels that its GOTOs name.
create procedure [GetNextItemInQueue]
    @LockedBy varchar(75)
as

set nocount on

declare
    @Error                     int,
    @ExitCode                  int,
    @RowCount                  int,
    @PendingStatus               int,
    @MinutesBeforeBreakLock       int,
    @RequestId                   int

select
    @Error                      = 0,
    @ExitCode                   = 0,
    @RowCount                   = 0,
    @PendingStatus                = 1,
    @MinutesBeforeBreakLock        = 30

begin tran ProcessQueue

select top 1 @RequestId = RequestId
from Queue with (updlock)
where Status = @PendingStatus
and (LockedTime IS NULL OR
DateDiff(mi, LockedTime, GetDate()) >= @MinutesBeforeBreakLock)
order by RequestedTime Asc

select @RowCount = @@RowCount, @Error = @@Error

if (@RowCount = 0)
    goto ExitProc

if (@Error <> 0)
    goto ErrorHandler

update Queue
set    LockedBy = @LockedBy,
    LockedTime = GetDate()
where RequestId = @RequestId

select @Error = @@Error
if (@Error <> 0)
    goto ErrorHandler

select @RequestId as RequestId

select @Error = @@Error
if (@Error <> 0)
    goto ErrorHandler

goto ExitProc

ErrorHandler:
    raiserror   (@Error, 16, 1)
    if @@trancount > 0
        rollback tran ProcessQueue
    select      @ExitCode =  -100

ExitProc:
    commit tran ProcessQueue
    return      (@ExitCode)
