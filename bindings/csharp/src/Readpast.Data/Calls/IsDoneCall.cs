using System;
using System.Data;
using System.Data.Common;
using System.Linq;
using System.Threading.Tasks;

namespace Readpast
{
    /// <summary>Asks whether a transaction has committed.</summary>
    internal static class IsDoneCall
    {
        internal static async Task<bool> Make(DbCall call, Guid operation)
        {
            DbCommand command = call.IsPostgres
                ? call.Statement("SELECT answer FROM " + call.Queue.Function("queue_is_done") + "(@operation)")
                : call.Procedure("QueueIsDone");
            command.Add("operation", DbType.Guid, operation);
            var answers = await call.Read(command, row => row.GetString(0)).ConfigureAwait(false);
            return answers.Single() == "OK";
        }
    }
}
