// Reads requests until standard input ends.
#include "adapter.hpp"

#include <cstdlib>
#include <exception>
#include <future>
#include <iostream>
#include <map>
#include <string>
#include <utility>

namespace {

class adapter {
public:
    adapter() = default;
    adapter(const adapter &) = delete;
    adapter &operator=(const adapter &) = delete;

    /// No request awaits the calls that are under way; those that still wait find their queues closed.
    ~adapter() {
        if (!calls_.empty())
            for (const auto &queue : kept_.queues.all())
                readpast_queue_close(queue->native_handle(), 0, nullptr);
    }

    json answer(json request) {
        if (const auto name = text_of(request, "async")) {
            calls_[*name] = std::async(std::launch::async,
                                       [this, request = std::move(request)] { return make_call(kept_, request); });
            return {{"status", "READPAST_OK"}, {"started", *name}};
        }
        if (name_of(request, "do") == "await") {
            const auto call = calls_.extract(name_of(request, "call"));
            return call.mapped().get();
        }
        return make_call(kept_, request);
    }

private:
    objects kept_;
    std::map<std::string, std::future<json>> calls_; // they end before the objects do
};

} // namespace

int main() {
    try {
        adapter adapter;
        for (std::string line; std::getline(std::cin, line);)
            std::cout << adapter.answer(json::parse(line)).dump() << '\n';
        return EXIT_SUCCESS;
    } catch (const std::exception &failure) {
        std::cerr << "conformance: " << failure.what() << '\n';
        return EXIT_FAILURE;
    }
}
