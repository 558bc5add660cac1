#include "records.hpp"

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace {

/// The items on record as taken and not as settled: an item that is given back before it was taken is no work. The worker
/// calls one observer at a time.
using claims = std::set<std::pair<std::string, std::int32_t>>;

void write_out() {
    if (!std::cout.flush()) {
        std::cerr << "cannot write records\n";
        std::exit(EXIT_FAILURE);
    }
}

void claimed(const readpast::batch &batch, claims &open) {
    for (const auto &item : batch) {
        open.emplace(item.key(), item.attempt());
        std::cout << "T\t" << item.key() << '\t' << item.attempt() << '\n';
    }
    write_out();
}

void settled(const readpast::settled &item, claims &open) {
    if (open.erase({std::string(item.key), item.attempt}) == 0)
        return;
    std::cout << "S\t" << item.key << '\t' << item.attempt << '\t' << static_cast<std::int32_t>(item.answer) << '\t'
              << static_cast<std::int32_t>(item.state) << '\n';
    write_out();
}

} // namespace

void record(readpast::worker &worker) {
    std::ios::sync_with_stdio(false);
    const auto open = std::make_shared<claims>();
    worker.on_claimed([open](const readpast::batch &batch) { claimed(batch, *open); });
    worker.on_settled([open](const readpast::settled &item) { settled(item, *open); });
}
