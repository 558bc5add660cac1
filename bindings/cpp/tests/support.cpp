#include "support.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <thread>

readpast::config settings() {
    readpast::config made(std::getenv("READPAST_CONNECTION"));
    made.set("schema", "readpast_cpp").set("poll.interval_ms", "20").set("worker.hold_ms", "3600000");
    // However busy the machine is, a call is given up only where a test says so.
    for (const char *key :
         {"pool.acquire_ms", "login.timeout_ms", "query.timeout_ms", "lock.timeout_ms", "retry.budget_ms"})
        made.set(key, "600000");
    return made;
}

std::string install() {
    // The builds of this program share a schema, and a number of a process may come again.
    using std::chrono::milliseconds;
    static const auto begun =
        std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch());
    static std::atomic<int> made = 0;
    std::string name = "Work" + std::to_string(begun.count()) + "x" + std::to_string(++made);
    readpast::install(settings(), R"json({"queue": ")json" + name +
                                      R"json(", "types": ["First", "Second"], "backoff": "none", "columns": [
        {"name": "Payload", "type": "text"}, {"name": "Brief", "type": "text(20)"},
        {"name": "Number", "type": "bigint"}, {"name": "Flag", "type": "boolean"}, {"name": "Ratio", "type": "float"},
        {"name": "Amount", "type": "decimal(38, 10)"}, {"name": "At", "type": "timestamp"},
        {"name": "Day", "type": "date"}, {"name": "Id", "type": "guid"}]})json");
    return name;
}

readpast::queue open() {
    return {settings(), install()};
}

readpast::new_item with(std::string_view column, std::string_view value) {
    return {R"({")" + std::string(column) + R"(": )" + std::string(value) + "}"};
}

readpast::new_item with_payload(std::string_view payload) {
    return with("Payload", '"' + std::string(payload) + '"');
}

void enqueue(const readpast::queue &queue, std::initializer_list<std::string_view> payloads) {
    std::vector<readpast::new_item> items;
    items.reserve(payloads.size());
    for (const auto payload : payloads)
        items.push_back(with_payload(payload));
    queue.enqueue(items);
}

readpast::batch claimed(const readpast::queue &queue, std::initializer_list<std::string_view> payloads) {
    enqueue(queue, payloads);
    return queue.claim(static_cast<std::int32_t>(payloads.size()));
}

std::string identity() {
    std::string made;
    std::ifstream("/proc/sys/kernel/random/uuid") >> made;
    return made;
}

std::vector<std::string> column(const readpast::queue &queue, std::string_view name) {
    std::vector<std::string> values;
    for (const auto &item : queue.find())
        values.emplace_back(item.text(name).value_or("NULL"));
    return values;
}

void until(const std::function<bool()> &is_so) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(10);
    while (!is_so()) {
        if (std::chrono::steady_clock::now() > deadline)
            throw std::runtime_error("it did not become so in ten minutes");
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
}

readpast::status thrown_by(const std::function<void()> &call) {
    try {
        call();
        return readpast::status::ok;
    } catch (const readpast::error &failure) {
        CHECK(std::string(failure.what()) != "");
        return failure.status();
    }
}

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}
