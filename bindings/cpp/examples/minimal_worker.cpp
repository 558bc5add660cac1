#include <cstdlib>
#include <iostream>
#include <readpast.hpp>

int main() try {
    const readpast::queue queue(readpast::config(std::getenv("READPAST_CONNECTION")), "Notification");
    while (auto batch = queue.claim(1, std::chrono::seconds(5))) {
        std::cout << batch[0].json() << '\n'; // the work
        queue.settle(batch[0].complete());
    }
} catch (const readpast::error &failure) {
    std::cerr << failure.what() << '\n';
    return EXIT_FAILURE;
}
