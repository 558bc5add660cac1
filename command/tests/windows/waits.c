/* A worker's command: says that it has begun (the file begun), and ends when it may (the file go). Both in the current folder. */
#include <stdio.h>
#include <windows.h>

static int is_there(const char *name) {
    return GetFileAttributesA(name) != INVALID_FILE_ATTRIBUTES;
}

int main(void) {
    FILE *begun = fopen("begun", "w");
    if (!begun || fclose(begun) != 0)
        return 1;
    while (!is_there("go"))
        Sleep(20);
    puts("done");
    return 0;
}
