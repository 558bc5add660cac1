// The header for C++ finds the library, and a mistake comes as its exception.
#include <iostream>
#include <readpast.hpp>

int main() {
    try {
        readpast::config config;
        config.set("no.such", "setting");
    } catch (const readpast::error &error) {
        std::cout << error.what() << '\n';
        return 0;
    }
    return 1;
}
