/* Reads requests until standard input ends. */
#include "adapter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void give_up(const char *what) {
    fprintf(stderr, "conformance: %s\n", what);
    exit(EXIT_FAILURE);
}

static cJSON *answer(cJSON *request) {
    const char *verb = text_of(request, "do"), *later = text_of(request, "async");
    if (!verb)
        give_up("a request without a verb");
    if (later) {
        cJSON *begun = answer_of(READPAST_OK, (readpast_error){0});
        cJSON_AddStringToObject(begun, "started", later);
        start_call(later, request);
        return begun;
    }
    cJSON *made = strcmp(verb, "await") == 0 ? await_call(text_of(request, "call")) : make_call(request);
    cJSON_Delete(request);
    if (!made) {
        made = cJSON_CreateObject();
        cJSON_AddStringToObject(made, "status", "UNSUPPORTED");
    }
    return made;
}

int main(void) {
    if (readpast_abi() != READPAST_ABI)
        give_up("the library is not the one this program was built with");
    for (char *line; (line = read_line()) != NULL; free(line)) {
        cJSON *made = answer(request_of(line));
        char *text = cJSON_PrintUnformatted(made);
        cJSON_Delete(made);
        if (!text || puts(text) < 0 || fflush(stdout) != 0)
            give_up("the answer cannot be written");
        cJSON_free(text);
    }
    end_calls();
    let_all_go();
    return EXIT_SUCCESS;
}
