// Claims and completes items as fast as one thread can, in batches of 100, and says how long it took; the same as
// bindings/c/bench/drain.c.
//
//   READPAST_CONNECTION='Driver={...};Server=...;' drain [-o key=value]... queue count
#include <readpast.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr std::int32_t batch_size = 100;
constexpr std::int64_t warm = 50000;

double cpu_seconds() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

long resident_kb() {
    long size = 0, pages = 0;
    if (!(std::ifstream("/proc/self/statm") >> size >> pages))
        throw std::runtime_error("/proc/self/statm cannot be read");
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

int drain(const readpast::queue &queue, std::int64_t wanted) {
    std::int64_t done = 0;
    std::size_t read = 0;
    long rss_begin = resident_kb();
    const double cpu = cpu_seconds();
    const auto begun = std::chrono::steady_clock::now();
    std::vector<readpast::settlement> settlements;
    for (auto batch = queue.claim(batch_size); batch;) {
        settlements.clear();
        for (const auto &item : batch) {
            read += item.text("Payload").value_or("").size();
            settlements.push_back(item.complete());
        }
        auto [outcomes, next] = queue.settle_and_claim(settlements, batch_size);
        if (outcomes.status() != readpast::status::ok)
            throw std::runtime_error("an item was refused");
        batch = std::move(next);
        const auto count = static_cast<std::int64_t>(settlements.size());
        if (done < warm && done + count >= warm)
            rss_begin = resident_kb();
        done += count;
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    const double used = cpu_seconds() - cpu;
    if (done != wanted || read == 0)
        throw std::runtime_error("there were " + std::to_string(done) + " items");
    std::printf(R"({"items":%lld,"seconds":%.6f,"cpu_seconds":%.6f,"rss_begin_kb":%ld,"rss_end_kb":%ld})"
                "\n",
                static_cast<long long>(done), took.count(), used, rss_begin, resident_kb());
    return EXIT_SUCCESS;
}

int run(int argc, char **argv) {
    readpast::config config(std::getenv("READPAST_CONNECTION"));
    for (int option = 0; (option = getopt(argc, argv, "o:")) != -1;) {
        const std::string setting = option == 'o' ? optarg : "";
        const auto equals = setting.find('=');
        if (equals == std::string::npos)
            return 2;
        config.set(setting.substr(0, equals), setting.substr(equals + 1));
    }
    if (argc - optind != 2) {
        std::cerr << "usage: " << argv[0] << " [-o key=value]... queue count\n";
        return 2;
    }
    return drain(readpast::queue(config, argv[optind]), std::stoll(argv[optind + 1]));
}

} // namespace

int main(int argc, char **argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception &failure) {
        std::cerr << "drain: " << failure.what() << '\n';
        return EXIT_FAILURE;
    }
}
