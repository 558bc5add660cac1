/*
* The calls that benches/overhead.rs compares the library with: the same ones, made by hand through ODBC, the way a careful C
 * programmer would. Statements are prepared once, types are asked for once, texts are bound and fetched wide and kept as
 * UTF-8, times are fetched as structs, and what a settle sends is written straight into its buffer.
 *
 *   raw_odbc CONNECTION CLAIM SETTLE WORKER
 *
 * Each line "ITEMS ROUNDS" on standard input is so many claims and settles of so many items; the answer on standard
 * output is "NANOSECONDS ITEMS".
 */
#include <sql.h>
#include <sqlext.h>
#include <sqlucode.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_COLUMNS = 64, MAX_ITEMS = 1000, FIRST_READ = 1024, ANSWER_COLUMNS = 7, LEASE_MS = 60000 };
enum { KEY = 3, TOKEN = 4, ATTEMPT = 5 };

enum kind { KIND_INTEGER, KIND_FLOAT, KIND_TIMESTAMP, KIND_TEXT };

/* A value: a number, or where in the arena its text is. */
struct cell {
    int is_null;
    int64_t integer;
    double number;
    size_t text;
    size_t length;
};

struct statement {
    SQLHSTMT handle;
    SQLWCHAR *text;
    int is_call;
    int columns;
    enum kind kinds[MAX_COLUMNS];
};

static SQLHENV environment;
static SQLHDBC connection;
static struct cell cells[MAX_ITEMS][MAX_COLUMNS];
static char *arena;
static size_t arena_used, arena_size;

static void fail(SQLSMALLINT type, SQLHANDLE handle, const char *what) {
    SQLCHAR state[6] = "", message[512] = "";
    SQLINTEGER native = 0;
    SQLSMALLINT length = 0;
    SQLGetDiagRec(type, handle, 1, state, &native, message, sizeof message, &length);
    fprintf(stderr, "raw_odbc: %s: %s %s\n", what, state, message);
    exit(1);
}

static void check(SQLRETURN code, SQLHSTMT statement, const char *what) {
    if (!SQL_SUCCEEDED(code)) fail(SQL_HANDLE_STMT, statement, what);
}

static SQLWCHAR *widen(const char *text) {
    size_t length = strlen(text);
    SQLWCHAR *wide = malloc((length + 1) * sizeof *wide);
    for (size_t i = 0; i <= length; i++) wide[i] = (unsigned char)text[i];
    return wide;
}

static char *reserve(size_t length) {
    if (arena_used + length > arena_size) {
        arena_size = 2 * (arena_used + length);
        arena = realloc(arena, arena_size);
    }
    return arena + arena_used;
}

/* Appends UTF-16 to the arena as UTF-8. */
static void keep_text(struct cell *cell, const SQLWCHAR *wide, size_t units) {
    char *start = reserve(3 * units + 1), *out = start;
    for (size_t i = 0; i < units; i++) {
        uint32_t c = wide[i];
        if (c >= 0xd800 && c < 0xdc00 && i + 1 < units) c = 0x10000 + ((c - 0xd800) << 10) + (wide[++i] - 0xdc00);
        if (c < 0x80) {
            *out++ = (char)c;
        } else if (c < 0x800) {
            *out++ = (char)(0xc0 | c >> 6);
            *out++ = (char)(0x80 | (c & 0x3f));
        } else if (c < 0x10000) {
            *out++ = (char)(0xe0 | c >> 12);
            *out++ = (char)(0x80 | (c >> 6 & 0x3f));
            *out++ = (char)(0x80 | (c & 0x3f));
        } else {
            *out++ = (char)(0xf0 | c >> 18);
            *out++ = (char)(0x80 | (c >> 12 & 0x3f));
            *out++ = (char)(0x80 | (c >> 6 & 0x3f));
            *out++ = (char)(0x80 | (c & 0x3f));
        }
    }
    *out++ = '\0';
    cell->text = arena_used;
    cell->length = (size_t)(out - start) - 1;
    arena_used += (size_t)(out - start);
}

static char *digits(char *out, unsigned value, int width, char separator) {
    for (int i = width - 1; i >= 0; i--, value /= 10) out[i] = (char)('0' + value % 10);
    out += width;
    if (separator) *out++ = separator;
    return out;
}

static void keep_time(struct cell *cell, const SQL_TIMESTAMP_STRUCT *time) {
    char *start = reserve(28), *out = start;
    out = digits(out, (unsigned)time->year, 4, '-');
    out = digits(out, time->month, 2, '-');
    out = digits(out, time->day, 2, 'T');
    out = digits(out, time->hour, 2, ':');
    out = digits(out, time->minute, 2, ':');
    out = digits(out, time->second, 2, '.');
    out = digits(out, time->fraction / 100, 7, '\0');
    *out++ = '\0';
    cell->text = arena_used;
    cell->length = 27;
    arena_used += (size_t)(out - start);
}

static void connect_to(const char *text) {
    SQLAllocHandle(SQL_HANDLE_ENV, SQL_NULL_HANDLE, &environment);
    SQLSetEnvAttr(environment, SQL_ATTR_ODBC_VERSION, (SQLPOINTER)SQL_OV_ODBC3_80, 0);
    SQLAllocHandle(SQL_HANDLE_DBC, environment, &connection);
    SQLRETURN code =
        SQLDriverConnectW(connection, NULL, widen(text), SQL_NTS, NULL, 0, NULL, SQL_DRIVER_NOPROMPT);
    if (!SQL_SUCCEEDED(code)) fail(SQL_HANDLE_DBC, connection, "connect");
}

static void prepare(struct statement *statement, const char *text) {
    statement->text = widen(text);
    statement->is_call = text[0] == '{';
    SQLAllocHandle(SQL_HANDLE_STMT, connection, &statement->handle);
    if (!statement->is_call)
        check(SQLPrepareW(statement->handle, statement->text, SQL_NTS), statement->handle, "prepare");
}

static void bind_text(struct statement *statement, SQLUSMALLINT number, SQLWCHAR *text, SQLLEN *bytes) {
    check(SQLBindParameter(statement->handle, number, SQL_PARAM_INPUT, SQL_C_WCHAR, SQL_WVARCHAR, 0, 0, text, *bytes, bytes),
          statement->handle, "bind text");
}

static void bind_integer(struct statement *statement, SQLUSMALLINT number, SQLINTEGER *value) {
    check(SQLBindParameter(statement->handle, number, SQL_PARAM_INPUT, SQL_C_SLONG, SQL_INTEGER, 0, 0, value, 0, NULL),
          statement->handle, "bind integer");
}

static void describe(struct statement *statement) {
    SQLSMALLINT count = 0;
    check(SQLNumResultCols(statement->handle, &count), statement->handle, "columns");
    statement->columns = count;
    for (int i = 0; i < count; i++) {
        SQLWCHAR name[130];
        SQLSMALLINT length, type, scale, nullable;
        SQLULEN size;
        check(SQLDescribeColW(statement->handle, (SQLUSMALLINT)(i + 1), name, 130, &length, &type, &size, &scale, &nullable),
              statement->handle, "describe");
        switch (type) {
        case SQL_TINYINT: case SQL_SMALLINT: case SQL_INTEGER: case SQL_BIGINT: statement->kinds[i] = KIND_INTEGER; break;
        case SQL_REAL: case SQL_FLOAT: case SQL_DOUBLE: statement->kinds[i] = KIND_FLOAT; break;
        case SQL_TYPE_TIMESTAMP: statement->kinds[i] = KIND_TIMESTAMP; break;
        default: statement->kinds[i] = KIND_TEXT;
        }
    }
}

static void fetch_text(SQLHSTMT handle, SQLUSMALLINT number, struct cell *cell) {
    static SQLWCHAR *buffer;
    static size_t size;
    if (!buffer) buffer = malloc((size = FIRST_READ) * sizeof *buffer);
    size_t units = 0;
    for (;;) {
        SQLLEN left = 0;
        SQLRETURN code =
            SQLGetData(handle, number, SQL_C_WCHAR, buffer + units, (SQLLEN)((size - units) * sizeof *buffer), &left);
        check(code, handle, "get text");
        if (left == SQL_NULL_DATA) {
            cell->is_null = 1;
            return;
        }
        if (code == SQL_SUCCESS) {
            units += (size_t)left / sizeof *buffer;
            break;
        }
        units = size - 1;
        size = left == SQL_NO_TOTAL ? 2 * size : units + (size_t)left / sizeof *buffer + 1;
        buffer = realloc(buffer, size * sizeof *buffer);
    }
    keep_text(cell, buffer, units);
}

static void fetch_cell(SQLHSTMT handle, SQLUSMALLINT number, enum kind kind, struct cell *cell) {
    SQLLEN length = 0;
    cell->is_null = 0;
    switch (kind) {
    case KIND_INTEGER:
        check(SQLGetData(handle, number, SQL_C_SBIGINT, &cell->integer, 0, &length), handle, "get integer");
        break;
    case KIND_FLOAT:
        check(SQLGetData(handle, number, SQL_C_DOUBLE, &cell->number, 0, &length), handle, "get number");
        break;
    case KIND_TIMESTAMP: {
        SQL_TIMESTAMP_STRUCT time;
        check(SQLGetData(handle, number, SQL_C_TYPE_TIMESTAMP, &time, 0, &length), handle, "get time");
        if (length != SQL_NULL_DATA) keep_time(cell, &time);
        break;
    }
    case KIND_TEXT:
        fetch_text(handle, number, cell);
        return;
    }
    cell->is_null = length == SQL_NULL_DATA;
}

/* Runs a statement and keeps its rows. The columns after the answer are read where an item is handed out. */
static int run(struct statement *statement) {
    SQLHSTMT handle = statement->handle;
    check(statement->is_call ? SQLExecDirectW(handle, statement->text, SQL_NTS) : SQLExecute(handle), handle, "execute");
    if (statement->columns == 0) describe(statement);
    int rows = 0;
    arena_used = 0;
    for (;;) {
        SQLRETURN code = SQLFetch(handle);
        if (code == SQL_NO_DATA) break;
        check(code, handle, "fetch");
        struct cell *row = cells[rows++];
        for (int i = 0; i < ANSWER_COLUMNS; i++) fetch_cell(handle, (SQLUSMALLINT)(i + 1), statement->kinds[i], row + i);
        if (!strncmp(arena + row[0].text, "CLAIMED", 7)) /* or CLAIMED_ALONE */
            for (int i = ANSWER_COLUMNS; i < statement->columns; i++)
                fetch_cell(handle, (SQLUSMALLINT)(i + 1), statement->kinds[i], row + i);
    }
    while (SQLMoreResults(handle) != SQL_NO_DATA) {}
    SQLFreeStmt(handle, SQL_CLOSE);
    return rows;
}

static void bind_number(struct statement *statement, SQLUSMALLINT number, SQLBIGINT *value, SQLLEN *bytes) {
    check(SQLBindParameter(statement->handle, number, SQL_PARAM_INPUT, SQL_C_SBIGINT, SQL_BIGINT, 0, 0, value, 0, bytes),
          statement->handle, "bind number");
}

static SQLWCHAR *put(SQLWCHAR *out, const char *text) {
    while (*text) *out++ = (unsigned char)*text++;
    return out;
}

/* A GUID by time, as the library draws them: the server's index of them grows at one end. */
static void draw_operation(SQLWCHAR *out) {
    static unsigned counter;
    struct timespec now;
    char text[40];
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    snprintf(text, sizeof text, "%08x-%04x-7%03x-8%03x-%012llx", (unsigned)(ms >> 16), (unsigned)(ms & 0xffff),
             counter++ & 0xfff, (unsigned)rand() & 0xfff, (unsigned long long)rand() << 16 | ((unsigned)rand() & 0xffff));
    put(out, text);
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    connect_to(argv[1]);
    struct statement claim = {0}, settle = {0};
    prepare(&claim, argv[2]);
    prepare(&settle, argv[3]);
    srand((unsigned)time(NULL));

    SQLWCHAR *worker = widen(argv[4]);
    SQLLEN worker_bytes = (SQLLEN)(strlen(argv[4]) * sizeof *worker);
    SQLINTEGER items = 0, lease = LEASE_MS, recover = 0, none = 0;
    bind_text(&claim, 1, worker, &worker_bytes);
    bind_integer(&claim, 2, &items);
    bind_integer(&claim, 3, &lease);
    bind_integer(&claim, 4, &recover);
    /* The number by which a claim whose answer was lost is asked about; a settle that claims nothing has none. */
    SQLBIGINT number = 0;
    SQLLEN number_bytes = 0, no_number = SQL_NULL_DATA;
    bind_number(&claim, 5, &number, &number_bytes);

    SQLWCHAR operation[37], *json = malloc(MAX_ITEMS * 160 * sizeof *json);
    SQLLEN operation_bytes = 36 * sizeof *operation, json_bytes = 0;
    bind_text(&settle, 1, operation, &operation_bytes);
    bind_text(&settle, 2, worker, &worker_bytes);
    bind_text(&settle, 3, json, &json_bytes);
    bind_integer(&settle, 4, &none);
    bind_integer(&settle, 5, &lease);
    bind_integer(&settle, 6, &recover);
    bind_number(&settle, 7, &number, &no_number);

    int asked, rounds;
    while (scanf("%d %d", &asked, &rounds) == 2) {
        struct timespec begun, ended;
        long done = 0;
        items = asked;
        clock_gettime(CLOCK_MONOTONIC, &begun);
        for (int round = 0; round < rounds; round++) {
            number = (SQLBIGINT)rand() << 31 | rand();
            int count = run(&claim);
            SQLWCHAR *out = put(json, "[");
            for (int i = 0; i < count; i++) {
                char attempt[16];
                snprintf(attempt, sizeof attempt, "%d", (int)cells[i][ATTEMPT].integer);
                out = put(out, i ? ",{\"key\":\"" : "{\"key\":\"");
                out = put(out, arena + cells[i][KEY].text);
                out = put(out, "\",\"token\":\"");
                out = put(out, arena + cells[i][TOKEN].text);
                out = put(out, "\",\"attempt\":");
                out = put(out, attempt);
                out = put(out, ",\"status\":\"Completed\"}");
            }
            out = put(out, "]");
            json_bytes = (SQLLEN)((out - json) * (long)sizeof *json);
            draw_operation(operation);
            if (run(&settle) != count) return 3;
            for (int i = 0; i < count; i++)
                if (!strcmp(arena + cells[i][0].text, "OK")) done++;
        }
        clock_gettime(CLOCK_MONOTONIC, &ended);
        long long ns = (ended.tv_sec - begun.tv_sec) * 1000000000LL + (ended.tv_nsec - begun.tv_nsec);
        printf("%lld %ld\n", ns, done);
        fflush(stdout);
    }
    return 0;
}
