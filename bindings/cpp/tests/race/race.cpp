// The race that the thread sanitizer must report, with the suppressions that the tests run under: two threads that share a
// queue change a number without a lock. check.sh runs it and looks at the report.
#include <readpast.hpp>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <thread>

namespace {

int number = 0; // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): the race

void work(const readpast::queue &queue, std::atomic<int> &there) {
    const readpast::batch taken = queue.claim(1);
    // Both are there before either goes on; the sanitizer can learn nothing from the order.
    there.fetch_add(1, std::memory_order_relaxed);
    while (there.load(std::memory_order_relaxed) < 2)
        std::this_thread::yield();
    for (int times = 0; times < 10000; times++)
        number++;
    queue.settle(taken[0].complete());
}

} // namespace

int main() {
    try {
        const readpast::queue queue(readpast::config(std::getenv("READPAST_CONNECTION")), "Notification");
        std::atomic<int> there = 0;
        std::thread other([&] { work(queue, there); });
        work(queue, there);
        other.join();
        std::cout << number << '\n';
        return EXIT_SUCCESS;
    } catch (const std::exception &failure) {
        std::cerr << failure.what() << '\n';
        return EXIT_FAILURE;
    }
}
