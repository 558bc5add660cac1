/* What a request holds. */
#include "adapter.h"

const char *text_of(const cJSON *request, const char *member) {
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(request, member));
}

int64_t number_of(const cJSON *request, const char *member, int64_t otherwise) {
    const cJSON *number = cJSON_GetObjectItemCaseSensitive(request, member);
    return cJSON_IsNumber(number) ? (int64_t)number->valuedouble : otherwise;
}

int32_t small_number_of(const cJSON *request, const char *member, int32_t otherwise) {
    return (int32_t)number_of(request, member, otherwise);
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
