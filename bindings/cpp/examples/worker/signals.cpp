#include "signals.hpp"

#include <pthread.h>
#include <unistd.h>

#include <system_error>

stop_on_signal::stop_on_signal(readpast::worker &worker) : worker_(worker) {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    if (const int failed = pthread_sigmask(SIG_BLOCK, &signals_, nullptr); failed != 0)
        throw std::system_error(failed, std::generic_category(), "signals cannot be blocked");
    thread_ = std::thread([this] { wait(); });
}

stop_on_signal::~stop_on_signal() {
    {
        const std::scoped_lock guard(lock_);
        finished_ = true;
    }
    pthread_kill(thread_.native_handle(), SIGINT); // wakes it: nothing else is done with the signal
    thread_.join();
}

void stop_on_signal::wait() {
    for (bool stopping = false;;) {
        int number = 0;
        sigwait(&signals_, &number);
        const std::scoped_lock guard(lock_);
        if (finished_)
            return;
        if (stopping && number == SIGINT)
            _exit(128 + number); // somebody has lost patience
        stopping = true;
        worker_.stop();
    }
}
