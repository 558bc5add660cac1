#include <readpast.h>
#include <stdio.h>
#include <stdlib.h>

static readpast_error error;
static int check(readpast_status status) {
    if (status >= 0)
        return status;
    fprintf(stderr, "%s\n", readpast_error_message(error));
    exit(EXIT_FAILURE);
}

int main(void) {
    const char *spec = "{\"queue\": \"Mail\", \"columns\": [{\"name\": \"Recipient\", \"type\": \"text(254)\"}]}";
    readpast_config config = readpast_config_new();
    check(readpast_config_set(config, "connection", getenv("READPAST_CONNECTION"), &error));
    check(readpast_install(config, spec, &error)); /* the second time it changes nothing */

    readpast_queue queue;
    check(readpast_queue_open(config, "Mail", &queue, &error));
    readpast_new_item mail = READPAST_NEW_ITEM_INIT;
    mail.columns_json = "{\"Recipient\": \"a@example.org\"}";
    check(readpast_queue_enqueue(queue, &mail, 1, NULL, NULL, &error));

    for (readpast_batch batch; check(readpast_queue_claim(queue, 1, 0, &batch, &error)) == READPAST_OK;) {
        readpast_item item = READPAST_ITEM_INIT;
        check(readpast_batch_item(batch, 0, &item, &error));
        printf("work on %s\n", readpast_batch_json(batch, 0)); /* the work */
        readpast_settlement done = READPAST_SETTLEMENT_INIT;
        done.key = item.key, done.token = item.token, done.attempt = item.attempt;
        done.action = READPAST_ACTION_COMPLETE;
        check(readpast_queue_settle(queue, &done, 1, NULL, NULL, &error));
        readpast_batch_free(batch);
    }
    readpast_queue_free(queue);
    readpast_config_free(config);
}
