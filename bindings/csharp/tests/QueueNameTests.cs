using Microsoft.Data.SqlClient;
using Npgsql;
using Xunit;

namespace Readpast.Tests
{
    /// <summary>Names of procedures and functions.</summary>
    public class QueueNameTests
    {
        [Theory]
        [InlineData("Notification", "notification")]
        [InlineData("PasswordReset", "password_reset")]
        [InlineData("SMSOut", "sms_out")]
        [InlineData("four_queue", "four_queue")]
        [InlineData("Q4Work", "q4_work")]
        public void FunctionsAreNamedAsTheLibraryNamesThem(string queue, string snake)
        {
            Assert.Equal("\"readpast\".\"add_" + snake + "_set_utx\"", ((QueueName)queue).Function("add_{0}_set_utx"));
        }

        [Fact]
        public void NamesAreQuoted()
        {
            var name = new QueueName("a]b\"c", "s]\"");
            Assert.Equal("[s]]\"].[Add_a]]b\"c]", name.Procedure("Add_{0}"));
            Assert.Equal("\"s]\"\"\".\"add_a]b\"\"c\"", name.Function("add_{0}"));
        }

        [Fact]
        public void TheServerIsThatOfTheConnectionUnlessItIsNamed()
        {
            Assert.True(((QueueName)"Q").IsOnPostgres(new NpgsqlConnection()));
            Assert.False(((QueueName)"Q").IsOnPostgres(new SqlConnection()));
            Assert.True(new QueueName("Q", server: QueueServer.PostgreSql).IsOnPostgres(new SqlConnection()));
        }
    }
}
