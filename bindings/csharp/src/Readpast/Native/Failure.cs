namespace Readpast.Native
{
    /// <summary>The library's errors as exceptions.</summary>
    internal static class Failure
    {
        extension(QueueException)
        {
            /// <summary>Throws if a call failed; takes the error over.</summary>
            internal static Status Check(int status, Handle error)
            {
                if (status >= 0)
                {
                    return (Status)status;
                }
                try
                {
                    string message = Utf8.Read(ErrorMethods.readpast_error_message(error));
                    throw new QueueException(
                        message ?? Library.NameOf(status),
                        (Status)status,
                        Utf8.Read(ErrorMethods.readpast_error_sqlstate(error)),
                        ErrorMethods.readpast_error_native_code(error),
                        ErrorMethods.readpast_error_is_retryable(error) != 0,
                        Utf8.Read(ErrorMethods.readpast_error_operation(error)));
                }
                finally
                {
                    ErrorMethods.readpast_error_free(error);
                }
            }
        }
    }
}
