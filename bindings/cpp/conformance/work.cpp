// The verb `work`: a worker whose handler does what a script says.
#include "adapter.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace {

using answer = std::optional<readpast::settlement>;

/// Does what the script says for the payload of an item.
answer follow(const json &script, readpast::job &job) {
    const auto line = script.find(job.text("Payload").value_or(""));
    if (line == script.end())
        return std::nullopt;
    const auto verb = name_of(*line, "do");
    if (verb == "raise")
        throw std::runtime_error(name_of(*line, "message"));
    if (verb == "step") {
        job.step(name_of(*line, "step")); // if it is refused, so will the settlement be
        return std::nullopt;
    }
    if (verb == "sleep") {
        std::this_thread::sleep_for(*time_of(*line, "ms"));
        return std::nullopt;
    }
    if (verb == "progress") {
        job.progress(number_of(*line, "percent", -1) - 1, "before");
        job.progress(number_of(*line, "percent", -1), name_of(*line, "text"));
    }
    if (verb == "wait_lost" || verb == "progress") {
        while (!job.lost())
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        return std::nullopt;
    }
    const auto text = [&line](const char *name) {
        auto given = text_of(*line, name);
        if (given && text_of(*line, "spoil") == name)
            given->append("\0\xFF", 2); // no text may hold these
        return given;
    };
    auto settlement = job.settle(action_of(line->at("do")));
    settlement.step = text("step");
    settlement.response = text("response");
    settlement.error = text("error");
    settlement.due = text("due");
    settlement.delay = time_of(*line, "delay_ms");
    settlement.set = json_of(*line, "set");
    put_followers(settlement, *line);
    return settlement;
}

/// Counts what is handled, also what was raised, and stops the worker in time.
struct counts {
    int until;
    readpast::worker &worker;
    std::mutex lock = {}; // NOLINT(readability-redundant-member-init): gcc misses it in the braces below
    int handled = 0, at_once = 0, most_at_once = 0;
};

class counted {
public:
    explicit counted(counts &all) : all_(all) {
        const std::scoped_lock guard(all_.lock);
        all_.most_at_once = std::max(++all_.at_once, all_.most_at_once);
    }
    counted(const counted &) = delete;
    counted &operator=(const counted &) = delete;
    ~counted() {
        const std::scoped_lock guard(all_.lock);
        all_.at_once--;
        if (++all_.handled == all_.until)
            all_.worker.stop();
    }

private:
    counts &all_;
};

} // namespace

json work(const readpast::queue &queue, const json &request) {
    readpast::worker worker(queue);
    counts all{number_of(request, "until", 1), worker};
    worker.until_empty(all.until == 0);
    if (const auto timeout = time_of(request, "settle_timeout_ms"))
        worker.settle_timeout(*timeout);
    worker.threads(static_cast<std::size_t>(number_of(request, "threads", 1)));
    worker.batch_size(number_of(request, "batch", 1));
    json aside = nullptr;
    worker.on_log([&aside](const readpast::log_entry &entry) {
        if (entry.text.find(" is set aside ") != std::string_view::npos)
            aside = entry.key;
    });
    worker.run([&](readpast::job &job) {
        const counted one(all);
        return follow(request.at("script"), job);
    });
    json answer = answer_of(readpast::status::ok);
    answer["handled"] = all.handled;
    answer["most_at_once"] = all.most_at_once;
    answer["aside"] = aside;
    return answer;
}
