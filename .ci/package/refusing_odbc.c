/* A libodbc that refuses each connection: with it a library runs where there is no ODBC driver, up to the error that it reports. */
#include <stdint.h>
#include <string.h>

/* The other functions of ODBC, which answer SQL_ERROR. */
#define REST(name) short name(void) { return -1; }
#include "odbc_functions.h"

static const char message[] = "no driver is here";
static int handle;

short SQLAllocHandle(short type, void *parent, void **made) {
    (void)type, (void)parent;
    *made = &handle;
    return 0;
}

short SQLFreeHandle(short type, void *freed) {
    (void)type, (void)freed;
    return 0;
}

short SQLSetEnvAttr(void *environment, int attribute, void *value, int length) {
    (void)environment, (void)attribute, (void)value, (void)length;
    return 0;
}

short SQLSetConnectAttrW(void *connection, int attribute, void *value, int length) {
    (void)connection, (void)attribute, (void)value, (void)length;
    return 0;
}

short SQLGetDiagRecW(short type, void *of, short number, uint16_t *state, int *native, uint16_t *text, short room, short *length) {
    (void)type, (void)of;
    if (number > 1)
        return 100;
    for (int i = 0; i < 6; i++)
        state[i] = (uint16_t) "IM002"[i];
    *native = 0;
    *length = (short)strlen(message);
    for (int i = 0; i < room && i <= *length; i++)
        text[i] = (uint16_t)message[i];
    return *length < room ? 0 : 1;
}
