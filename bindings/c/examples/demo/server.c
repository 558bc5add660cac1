#include "server.h"

#include "../records.h"
#include "screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PER_CALL = 1000 };

static const char description[] =
    "{\"queue\": \"" DEMO_QUEUE "\", \"types\": [\"Email\", \"Sms\"], \"backoff\": \"none\", "
    "\"columns\": ["
    "{\"name\": \"Recipient\", \"type\": \"text(254)\"},"
    "{\"name\": \"Subject\", \"type\": \"text(200)\"},"
    "{\"name\": \"Body\", \"type\": \"text\"}]}";

/* Whether a call went well; if not, says why, and frees the error. */
static bool check(const char *doing, readpast_status status, readpast_error error) {
    if (status >= 0)
        return true;
    const char *message = readpast_error_message(error);
    screen_say("%s: %s (%s)", doing, message ? message : "no more is known", readpast_status_name(status));
    readpast_error_free(error);
    return false;
}

static bool set(readpast_config config, const char *key, const char *value) {
    readpast_error error;
    readpast_status status = readpast_config_set(config, key, value, &error);
    return check("Settings", status, error);
}

static bool configure(readpast_config config, const char *schema, const char *const *more) {
    const char *settings[][2] = {
        {"connection", getenv("READPAST_CONNECTION")},
        {"schema", schema},
        {"application", "readpast demo"},
        {"retry.budget_ms", "5000"}, /* somebody is looking on: say soon that the server is gone */
    };
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        if (!set(config, settings[i][0], settings[i][1]))
            return false;
    for (; *more; more++) {
        char key[64];
        const char *equals = strchr(*more, '=');
        snprintf(key, sizeof key, "%.*s", equals ? (int)(equals - *more) : (int)strlen(*more), *more);
        if (!set(config, key, equals ? equals + 1 : NULL))
            return false;
    }
    return true;
}

bool server_begin(struct server *server, const char *schema, const char *const *settings) {
    readpast_error error;
    server->config = readpast_config_new();
    if (!configure(server->config, schema, settings))
        return false;
    readpast_status status = readpast_install(server->config, description, &error);
    return check("Installing the queue", status, error) && server_open(server);
}

bool server_open(struct server *server) {
    readpast_error error;
    readpast_status status = readpast_queue_open(server->config, DEMO_QUEUE, &server->queue, &error);
    return check("Opening the queue", status, error);
}

void server_close(struct server *server) {
    readpast_queue_free(server->queue);
    server->queue = (readpast_queue){0};
}

void server_end(struct server *server) {
    server_close(server);
    readpast_config_free(server->config);
}

bool server_enqueue(struct server *server, struct ledger *ledger, int32_t most, double *seconds) {
    static char columns[PER_CALL][256];
    static readpast_new_item items[PER_CALL];
    int32_t part = most < PER_CALL ? most : PER_CALL;
    int64_t begun = record_clock();
    for (int32_t i = 0; i < part; i++) {
        int32_t number = ledger->count + i + 1;
        snprintf(columns[i], sizeof columns[i],
                 "{\"Recipient\": \"customer-%d@example.org\", \"Subject\": \"Your order %d is on its way\", "
                 "\"Body\": \"Dear customer,\\nyour order %d has left our warehouse.\"}",
                 number, number, number);
        items[i] = (readpast_new_item)READPAST_NEW_ITEM_INIT;
        items[i].type = number % 4 == 0 ? "Sms" : "Email";
        items[i].columns_json = columns[i];
    }
    readpast_error error;
    readpast_receipts receipts;
    readpast_status status = readpast_queue_enqueue(server->queue, items, part, NULL, &receipts, &error);
    if (!check("Enqueuing", status, error))
        return false;
    bool entered = ledger_enter(ledger, receipts);
    readpast_receipts_free(receipts);
    *seconds += (double)(record_clock() - begun) / 1e6;
    return entered;
}

/*
 * No call only reads an item, but here is one that cannot change it: it does not renew the lease of another worker, and the
 * answer says which state the item is in, and at which attempt.
 */
static bool ask_part(struct server *server, struct ledger *ledger, const readpast_lease *leases, int32_t count) {
    static readpast_outcome outcomes[PER_CALL];
    readpast_error error;
    outcomes[0] = (readpast_outcome)READPAST_OUTCOME_INIT;
    readpast_status status = readpast_queue_renew(server->queue, leases, count, outcomes, &error);
    if (!check("Asking for states", status, error))
        return false;
    for (int32_t i = 0; i < count; i++)
        ledger_note(ledger, ledger_find(ledger, leases[i].key), outcomes[i].state, outcomes[i].attempt);
    return true;
}

bool server_ask(struct server *server, struct ledger *ledger, bool all) {
    static readpast_lease leases[PER_CALL];
    int32_t count = 0;
    for (int32_t i = 0; i < ledger->count; i++) {
        if (all || !state_is_final(ledger->items[i].state)) {
            leases[count] = (readpast_lease)READPAST_LEASE_INIT;
            leases[count].key = ledger->keys[i];
            leases[count++].attempt = 1;
        }
        if (count == PER_CALL) {
            if (!ask_part(server, ledger, leases, count))
                return false;
            if (!all)
                return true;
            count = 0;
        }
    }
    return count == 0 || ask_part(server, ledger, leases, count);
}
