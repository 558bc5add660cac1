// Runs a worker until it has done what a test waits for.
#ifndef RUNNING_HPP
#define RUNNING_HPP

#include "support.hpp"

#include <readpast.hpp>

#include <chrono>
#include <functional>
#include <future>

/// Throws what the run throws, also if it ends before that.
template <class Handler>
void run(readpast::worker &worker, const Handler &handler, const std::function<bool()> &enough) {
    auto running = std::async(std::launch::async, [&] { worker.run(handler); });
    const auto has_ended = [&] { return running.wait_for(std::chrono::seconds(0)) == std::future_status::ready; };
    try {
        until([&] { return has_ended() || enough(); });
    } catch (...) {
        worker.stop();
        throw;
    }
    worker.stop();
    running.get();
}

#endif
