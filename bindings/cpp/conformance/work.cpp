// The verb `work`: a worker whose handler does what a script says.
#include "adapter.hpp"

#include <atomic>
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
    auto settlement = job.settle(action_of(line->at("do")));
    settlement.response = text_of(*line, "response");
    settlement.error = text_of(*line, "error");
    settlement.delay = time_of(*line, "delay_ms");
    return settlement;
}

/// Counts what is handled, also what was raised, and stops the worker in time.
class counted {
public:
    counted(std::atomic<int> &handled, int until, readpast::worker &worker)
        : handled_(handled), until_(until), worker_(worker) {}
    counted(const counted &) = delete;
    counted &operator=(const counted &) = delete;
    ~counted() {
        if (++handled_ == until_)
            worker_.stop();
    }

private:
    std::atomic<int> &handled_;
    int until_;
    readpast::worker &worker_;
};

} // namespace

json work(const readpast::queue &queue, const json &request) {
    const int until = number_of(request, "until", 1);
    std::atomic<int> handled = 0;
    readpast::worker worker(queue);
    worker.threads(static_cast<std::size_t>(number_of(request, "threads", 1)));
    worker.batch_size(number_of(request, "batch", 1));
    worker.run([&](readpast::job &job) {
        const counted one(handled, until, worker);
        return follow(request.at("script"), job);
    });
    json answer = answer_of(readpast::status::ok);
    answer["handled"] = handled.load();
    return answer;
}
