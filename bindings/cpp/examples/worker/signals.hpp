// SIGTERM and SIGINT stop a worker. To stop one takes locks, so a signal handler must not do it. Instead, all threads block
// the signals, and one of them does nothing but wait for them.
#ifndef SIGNALS_HPP
#define SIGNALS_HPP

#include <readpast.hpp>

#include <csignal>
#include <mutex>
#include <thread>

/// The first signal stops the worker; a second Ctrl-C ends the process at once. Made before the worker runs, so that its
/// threads inherit the blocked signals, and destroyed before it. (Before, nothing is in flight: signals do what they always do.)
class stop_on_signal {
public:
    explicit stop_on_signal(readpast::worker &worker);
    stop_on_signal(const stop_on_signal &) = delete;
    stop_on_signal &operator=(const stop_on_signal &) = delete;
    ~stop_on_signal();

private:
    void wait();

    readpast::worker &worker_;
    sigset_t signals_{};
    std::mutex lock_; // guards the next member
    bool finished_ = false;
    std::thread thread_;
};

#endif
