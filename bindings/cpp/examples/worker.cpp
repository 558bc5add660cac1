// A worker, to copy and make your own, with the folder worker beside it: put your work into handle().
//
//   READPAST_CONNECTION='Driver={...};Server=...;' worker [-b items] [-l lease_ms] [-o key=value]... [-f n] [-r] queue
//
//   -b items       how many items to claim at once (default 50)
//   -l lease_ms    how long a claim holds, should this process die
//   -o key=value   any setting of the library, like -o schema=sales
//   -f n           every nth item fails, to see what becomes of it
//   -r             write to standard output what was claimed and what the server answered: see worker/records.hpp
//
// SIGTERM or SIGINT (Ctrl-C) ends it in order: what was begun is settled, what was not is given back. A second Ctrl-C ends
// it at once; the leases then run out, and other workers take over.
#include "worker/records.hpp"
#include "worker/signals.hpp"

#include <readpast.hpp>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

namespace {

/// The work itself, of which this program only pretends.
class handler {
public:
    explicit handler(long fail_every) : fail_every_(fail_every) {}

    std::optional<readpast::settlement> operator()(readpast::job &job) const {
        const auto recipient = job.text("Recipient");
        if (!recipient)
            return job.fail("there is no recipient");
        // Here a message would be sent to *recipient.
        if (const long handled = ++handled_; fail_every_ > 0 && handled % fail_every_ == 0)
            return job.retry("the mail server said: 451 try again later");
        return std::nullopt; // done
    }

private:
    long fail_every_;
    mutable std::atomic<long> handled_ = 0; // handlers run on several threads
};

/// The values of the command line.
struct arguments {
    readpast::config config;
    std::int32_t batch_size = 50;
    long fail_every = 0;
    bool records = false;
    const char *queue = nullptr;

    /// False when it cannot be understood.
    bool read(int argc, char **argv) {
        for (int option = 0; (option = getopt(argc, argv, "b:l:o:f:r")) != -1;) {
            switch (option) {
            case 'b': batch_size = static_cast<std::int32_t>(std::strtol(optarg, nullptr, 10)); break;
            case 'l': config.set("lease.ms", optarg); break;
            case 'f': fail_every = std::strtol(optarg, nullptr, 10); break;
            case 'r': records = true; break;
            case 'o': set(optarg); break;
            default: return false;
            }
        }
        queue = optind == argc - 1 ? argv[optind] : nullptr;
        return queue != nullptr && batch_size >= 1;
    }

private:
    void set(std::string_view setting) {
        const auto key = setting.substr(0, setting.find('='));
        config.set(key, setting.substr(key.size() < setting.size() ? key.size() + 1 : key.size()));
    }
};

int run(int argc, char **argv) {
    arguments given;
    if (!given.read(argc, argv)) {
        std::cerr << "usage: " << argv[0] << " [-b items] [-l lease_ms] [-o key=value]... [-f n] [-r] queue\n";
        return 2;
    }
    given.config.set("connection", std::getenv("READPAST_CONNECTION"));
    const readpast::queue queue(given.config, given.queue);
    readpast::worker worker(queue);
    worker.batch_size(given.batch_size);
    if (given.records)
        record(worker);
    const stop_on_signal guard(worker);
    worker.run(handler(given.fail_every));
    queue.close(std::chrono::seconds(5));
    return EXIT_SUCCESS;
}

} // namespace

int main(int argc, char **argv) {
    try {
        return run(argc, argv);
    } catch (const readpast::error &failure) {
        std::cerr << failure.what() << " (" << readpast::name(failure.status());
        if (const auto sqlstate = failure.sqlstate())
            std::cerr << ", SQLSTATE " << *sqlstate;
        std::cerr << ")\n";
    } catch (const std::exception &failure) {
        std::cerr << failure.what() << '\n';
    }
    return EXIT_FAILURE;
}
