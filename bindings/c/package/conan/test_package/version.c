/* The library that is there at run time is the one that the header is of. */
#include <readpast.h>
#include <stdio.h>

int main(void) {
    printf("readpast %s\n", readpast_version());
    return readpast_abi() == READPAST_ABI ? 0 : 1;
}
