// The process's own figures.
#include "support.hpp"

#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <vector>

TEST_CASE("the process reports its work") {
    const std::string before = readpast::metrics();
    CHECK(contains(before, "readpast_build_info{version=\"" + std::string(readpast::version()) + "\"} 1\n"));
    // A queue of the test's own: the figures are the whole process's.
    const std::string name = install();
    const readpast::queue queue(settings(), name);
    const auto items = claimed(queue, {"a", "b", "c"});
    queue.settle({items[0].complete(), items[1].fail("never")});
    const std::string of_queue = R"({schema="readpast_cpp",queue=")" + name + "\"";
    const std::string text = readpast::metrics();
    CHECK(contains(text, "# TYPE readpast_claimed_items_total counter\n"));
    CHECK(contains(text, "readpast_claimed_items_total" + of_queue + "} 3\n"));
    CHECK(contains(text, "readpast_settled_items_total" + of_queue + ",outcome=\"Completed\"} 1\n"));
    CHECK(contains(text, "readpast_settled_items_total" + of_queue + ",outcome=\"Failed\"} 1\n"));
}

TEST_CASE("any thread may ask for the figures") {
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; i++)
        threads.emplace_back([] {
            for (int round = 0; round < 50; round++)
                CHECK(!readpast::metrics().empty());
        });
    for (auto &thread : threads)
        thread.join();
}
