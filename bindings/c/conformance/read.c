/* The members of a request. */
#include "adapter.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* getline, which Windows has not. */
char *read_line(void) {
    size_t room = 4096, length = 0;
    char *line = malloc(room);
    while (line && fgets(line + length, (int)(room - length), stdin)) {
        length += strlen(line + length);
        if (length > 0 && line[length - 1] == '\n')
            return line;
        char *longer = realloc(line, room *= 2);
        if (!longer)
            break;
        line = longer;
    }
    if (!line || !feof(stdin))
        give_up("a line that cannot be read");
    free(line);
    return NULL;
}

/* The next number of a JSON text, that is, the next outside of quotation marks. */
static const char *next_number(const char *text) {
    for (; *text && !strchr("-0123456789", *text); text++) {
        if (*text != '"')
            continue;
        for (text++; *text != '"'; text++)
            if (*text == '\\')
                text++;
    }
    return text;
}

/* Goes through the values in the order in which they stand in the text, as cJSON keeps them. */
static const char *quote_numbers(cJSON *value, const char *text) {
    for (; value; value = value->next) {
        if (cJSON_IsNumber(value)) {
            text = next_number(text);
            size_t length = strspn(text, "-+.eE0123456789");
            value->valuestring = cJSON_malloc(length + 1);
            if (!value->valuestring)
                give_up("not enough memory");
            memcpy(value->valuestring, text, length);
            value->valuestring[length] = '\0';
            value->type = cJSON_Raw;
            text += length;
        }
        text = quote_numbers(value->child, text);
    }
    return text;
}

cJSON *request_of(const char *line) {
    cJSON *request = cJSON_Parse(line);
    if (!request)
        give_up("a line that is no JSON");
    quote_numbers(request, line);
    return request;
}

const char *text_of(const cJSON *request, const char *member) {
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(request, member));
}

char *json_of(const cJSON *request, const char *member) {
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(request, member);
    return !value || cJSON_IsNull(value) ? NULL : cJSON_PrintUnformatted(value);
}

int64_t number_of(const cJSON *request, const char *member, int64_t otherwise) {
    const cJSON *number = cJSON_GetObjectItemCaseSensitive(request, member);
    return cJSON_IsRaw(number) ? strtoll(number->valuestring, NULL, 10) : otherwise;
}

int32_t small_number_of(const cJSON *request, const char *member, int32_t otherwise) {
    int64_t number = number_of(request, member, otherwise);
    if (number < INT32_MIN || number > INT32_MAX)
        give_up("a number that does not fit");
    return (int32_t)number;
}

/* The first setting that is refused ends it; the configuration is the caller's in any case. */
readpast_config config_of(const cJSON *request, readpast_status *status, readpast_error *error) {
    readpast_config config = readpast_config_new();
    const cJSON *setting;
    *status = READPAST_OK;
    *error = (readpast_error){0};
    cJSON_ArrayForEach(setting, cJSON_GetObjectItemCaseSensitive(request, "settings")) {
        *status = readpast_config_set(config, setting->string, cJSON_GetStringValue(setting), error);
        if (*status < 0)
            break;
    }
    return config;
}
