/* The demo's questions to the server. When something goes wrong, each prints it and returns false. */
#ifndef SERVER_H
#define SERVER_H

#include "ledger.h"

#define DEMO_QUEUE "Notification"

struct server {
    readpast_config config;
    readpast_queue queue;
};

/* Makes the schema and the queue if they are not there, and opens the queue. `settings`: key=value, NULL at the end. */
bool server_begin(struct server *server, const char *schema, const char *const *settings);

/* Enqueues `most` notifications, but 1000 at a time, enters them into the ledger and adds the time it took. */
bool server_enqueue(struct server *server, struct ledger *ledger, int32_t most, double *seconds);

bool server_open(struct server *server);
void server_close(struct server *server);

/* Asks in which state the items are: all of them, or up to 1000 of which no final state is known. */
bool server_ask(struct server *server, struct ledger *ledger, bool all);

void server_end(struct server *server);

#endif
