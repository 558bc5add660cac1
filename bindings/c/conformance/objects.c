/* The handles, by name. */
#define _POSIX_C_SOURCE 200809L

#include "adapter.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 256 };

static struct object {
    char name[64];
    enum kind kind;
    uint64_t id;
} objects[MOST];
static int count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void free_object(const struct object *object) {
    switch (object->kind) {
    case QUEUE: readpast_queue_free((readpast_queue){object->id}); break;
    case BATCH: readpast_batch_free((readpast_batch){object->id}); break;
    case RENEWAL: readpast_renewal_free((readpast_renewal){object->id}); break;
    }
}

/* With the lock held. NULL when there is none. */
static struct object *find(enum kind kind, const char *name) {
    for (int i = 0; i < count; i++)
        if (objects[i].kind == kind && strcmp(objects[i].name, name) == 0)
            return &objects[i];
    return NULL;
}

/* A name given again is the new object's: the one before it is freed. */
void keep(enum kind kind, const char *name, uint64_t id) {
    pthread_mutex_lock(&lock);
    struct object *object = find(kind, name);
    struct object before = object ? *object : (struct object){.id = 0, .kind = kind};
    if (!object) {
        if (count == MOST || strlen(name) >= sizeof objects[0].name)
            give_up("too many objects, or too long a name");
        object = &objects[count++];
        object->kind = kind;
        snprintf(object->name, sizeof object->name, "%s", name);
    }
    object->id = id;
    pthread_mutex_unlock(&lock);
    free_object(&before);
}

uint64_t kept(enum kind kind, const char *name) {
    pthread_mutex_lock(&lock);
    const struct object *object = name ? find(kind, name) : NULL;
    uint64_t id = object ? object->id : 0;
    pthread_mutex_unlock(&lock);
    return id;
}

uint64_t kept_for(enum kind kind, const cJSON *request, const char *member) {
    return kept(kind, text_of(request, member));
}

/* The name stays, with a handle that is freed: what is called with it shall find that out. */
void let_go(enum kind kind, const char *name) {
    struct object object = {.id = kept(kind, name), .kind = kind};
    free_object(&object);
}

void close_queues(void) {
    pthread_mutex_lock(&lock);
    for (int i = 0; i < count; i++)
        if (objects[i].kind == QUEUE)
            readpast_queue_close((readpast_queue){objects[i].id}, 0, NULL);
    pthread_mutex_unlock(&lock);
}

void let_all_go(void) {
    for (int i = 0; i < count; i++)
        free_object(&objects[i]);
}
