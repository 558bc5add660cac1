// Handlers that the type of an item chooses, and the work that they get.
#include "running.hpp"
#include "support.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>

using readpast::batch;
using readpast::job;
using readpast::settlement;

namespace {

struct mail {
    std::string to;
    int copies = 0;
};

void from_json(const nlohmann::json &from, mail &to) {
    from.at("to").get_to(to.to);
    from.at("copies").get_to(to.copies);
}

/// The work is JSON in one column.
template <class Work> Work document(const readpast::item &item) {
    return nlohmann::json::parse(item.text("Payload").value()).get<Work>();
}

struct resize {
    std::string file;
    std::optional<std::int64_t> width;
};

/// Its members are columns.
void from_item(const readpast::item &item, resize &work) {
    work.file = item.text("Brief").value();
    work.width = item.integer("Number");
}

/// The lines that handlers have noted, in their order.
class notes {
public:
    void add(const std::string &line) {
        const std::scoped_lock guard(lock_);
        lines_.push_back(line);
    }

    /// Returns them sorted: items are worked on in any order.
    [[nodiscard]] std::vector<std::string> sorted() {
        const std::scoped_lock guard(lock_);
        auto lines = lines_;
        std::sort(lines.begin(), lines.end());
        return lines;
    }

    std::vector<std::string> lines() {
        const std::scoped_lock guard(lock_);
        return lines_;
    }

private:
    std::mutex lock_;
    std::vector<std::string> lines_;
};

std::string wrong(const readpast::handlers &handlers, const readpast::item &item) {
    job job(item);
    const auto made = handlers(job);
    return std::string(name(made.action)) + ": " + made.error.value_or("");
}

readpast::new_item of_type(const char *type, std::string_view columns) {
    return {std::string(columns), type};
}

} // namespace

TEST_CASE("work goes to the handler of its type") {
    const auto queue = open();
    notes seen;
    readpast::handlers handlers;
    // Captures need not be copyable.
    handlers
        .handle("First", document<mail>,
                [&, owned = std::make_unique<int>(1)](const mail &work, job &job) {
                    seen.add("mail " + work.to + " " + std::to_string(work.copies + *owned));
                    return job.complete("sent");
                })
        .handle<resize>("Second", [&](resize work, const readpast::item & /*unused*/) {
            seen.add("resize " + work.file + " " + (work.width ? std::to_string(*work.width) : "freely"));
        });
    queue.enqueue({of_type("First", R"({"Payload": "{\"to\": \"a\", \"copies\": 2, \"more\": 1}"})"),
                   of_type("Second", R"({"Brief": "x", "Number": 7})"), of_type("Second", R"({"Brief": "y"})")});
    readpast::worker worker(queue);
    run(worker, handlers, [&] { return queue.stats().completed == 3; });
    CHECK(seen.sorted() == std::vector<std::string>{"mail a 3", "resize x 7", "resize y freely"});
    CHECK(column(queue, "response") == std::vector<std::string>{"sent", "", ""});
}

TEST_CASE("work that cannot be read is failed at once, with the place") {
    const auto queue = open();
    notes seen;
    readpast::handlers handlers;
    handlers.handle_all(document<mail>, [&](const mail &work, job & /*unused*/) { seen.add(work.to); })
        .around([&](job &job, const auto &next) {
            auto made = next(job);
            seen.add(std::string(name(made.action)));
            return made;
        });
    queue.enqueue({with("Payload", R"("{\"to\": \"a\"}")"), with("Payload", R"("{\"to\": 7, \"copies\": 1}")"),
                   with("Payload", R"("{\"to\": secret}")"), with("Payload", R"("{\"to\": 98765e4321}")"),
                   with("Brief", R"("no payload")")});
    readpast::worker worker(queue);
    worker.on_log(nullptr);
    run(worker, handlers, [&] { return queue.stats().failed == 5; });
    const auto errors = column(queue, "error");
    const std::string no_mail = "the item carries no mail: ";
    CHECK(errors[0] == no_mail + "[json.exception.out_of_range.403] key 'copies' not found");
    CHECK(errors[1] == no_mail + "[json.exception.type_error.302] type must be string, but is number");
    CHECK(errors[2] ==
          no_mail + "[json.exception.parse_error.101] parse error at line 1, column 8: syntax error while parsing "
                    "value - invalid literal");
    CHECK(errors[3] == no_mail + "[json.exception.out_of_range.406] number overflow");
    CHECK(errors[4] == no_mail + "a value that it needs is null");
    for (const auto &item : queue.find())
        CHECK(item.attempt() == 1);
    CHECK(seen.lines() == std::vector<std::string>(5, "FAIL"));
}

TEST_CASE("a type that this version does not know is left to the next attempt") {
    const auto items = batch::from_json(R"([{"type": "Other", "columns": {"Payload": "x"}}])");
    readpast::handlers handlers;
    const auto nothing = [](job & /*unused*/) {};
    handlers.handle("Second", nothing).handle("First", nothing);
    CHECK(wrong(handlers, items[0]) ==
          "RETRY: this worker has no handler for the type Other; it has some for First, Second");
    handlers.handle_all([](job &job) { return job.fail("nobody handles it"); });
    CHECK(wrong(handlers, items[0]) == "FAIL: nobody handles it");
    CHECK(thrown_by([&] { handlers.handle("First", nothing); }) == readpast::status::invalid_argument);
}

TEST_CASE("a table without types has items of its only one") {
    const auto bare = batch::from_json(R"([{"columns": {"Brief": "a", "Number": 1}}])");
    const auto others = batch::from_json(R"([{"type": "Second"}, {"columns": {"Type": null}}])");
    notes seen;
    readpast::handlers handlers;
    handlers.handle<resize>("First", [&](const resize &work, job & /*unused*/) { seen.add(work.file); });
    CHECK(wrong(handlers, bare[0]) == "COMPLETE: ");
    CHECK(seen.lines() == std::vector<std::string>{"a"});
    CHECK(contains(wrong(handlers, others[0]), "RETRY: "));
    CHECK(contains(wrong(handlers, others[1]), "RETRY: "));
    handlers.handle<resize>("Second", [](const resize & /*unused*/, job & /*unused*/) {});
    CHECK(wrong(handlers, bare[0]) ==
          "RETRY: this worker has no handler for the type (none); it has some for First, Second");
}

TEST_CASE("a mistake of the program is not the item's") {
    const auto items = batch::from_json(R"([{"type": "First", "columns": {"Brief": "a", "Number": "no number"}}])");
    const auto reading = [&](const auto &read) {
        return [&] {
            readpast::handlers handlers;
            handlers.handle("First", read, [](int /*unused*/, job & /*unused*/) {});
            return wrong(handlers, items[0]);
        };
    };
    readpast::handlers handlers;
    handlers.handle<resize>("First", [](const resize & /*unused*/, job & /*unused*/) {});
    CHECK_THROWS_AS(wrong(handlers, items[0]), readpast::error); // the column holds text
    CHECK_THROWS_AS(reading([](const readpast::item &item) { return item["Nowhere"].is_null() ? 1 : 2; })(),
                    readpast::no_such_column);
    CHECK_THROWS_AS(reading([](const readpast::item & /*unused*/) -> int { throw std::bad_alloc(); })(),
                    std::bad_alloc);
    CHECK_THROWS_AS(reading([](const readpast::item & /*unused*/) -> int { throw 7; })(), int);
    CHECK(reading([](const readpast::item &item) { return std::stoi(std::string(item.text("Brief").value())); })() ==
          "FAIL: the item carries no int: stoi");
    // A handler's exception is none of an adapter.
    readpast::handlers failing;
    failing.handle_all([](const readpast::item & /*unused*/) { return 1; },
                       [](int /*unused*/, job & /*unused*/) { throw std::runtime_error("451"); });
    CHECK_THROWS_WITH_AS(wrong(failing, items[0]), "451", std::runtime_error);
}

TEST_CASE("the first middleware is the outermost, and may decide alone") {
    const auto items = batch::from_json(R"([{"type": "First"}])");
    notes seen;
    readpast::handlers handlers;
    handlers.handle("First", [&](job &job) {
        seen.add("handler");
        return job.retry("later");
    });
    for (const char *name : {"outer", "inner"})
        handlers.around([&seen, name](job &job, const readpast::handlers::next &next) {
            seen.add(std::string(name) + " in");
            auto made = next(job);
            seen.add(std::string(name) + " out");
            return made;
        });
    CHECK(wrong(handlers, items[0]) == "RETRY: later");
    CHECK(seen.lines() == std::vector<std::string>{"outer in", "inner in", "handler", "inner out", "outer out"});
    const auto copy = handlers;
    handlers.around([](job &job, const auto & /*unused*/) { return job.fail("not today"); });
    CHECK(wrong(handlers, items[0]) == "FAIL: not today");
    CHECK(seen.lines().size() == 9);
    CHECK(wrong(copy, items[0]) == "RETRY: later");
}
