#include "records.hpp"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>

namespace {

void write_out() {
    if (!std::cout.flush()) {
        std::cerr << "cannot write records\n";
        std::exit(EXIT_FAILURE);
    }
}

void claimed(const readpast::batch &batch) {
    for (const auto &item : batch)
        std::cout << "T\t" << item.key() << '\t' << item.attempt() << '\n';
    write_out();
}

void settled(const readpast::settled &batch) {
    for (std::size_t i = 0; i < batch.settlements.size(); i++)
        std::cout << "S\t" << batch.settlements[i].key << '\t' << batch.settlements[i].attempt << '\t'
                  << static_cast<std::int32_t>(batch.outcomes[i].answer()) << '\t'
                  << static_cast<std::int32_t>(batch.outcomes[i].state()) << '\n';
    if (batch.claimed > 0)
        std::cout << "L\t" << std::chrono::duration_cast<std::chrono::microseconds>(batch.took).count() << '\n';
    write_out();
}

} // namespace

void record(readpast::worker &worker) {
    std::ios::sync_with_stdio(false);
    worker.on_claimed(claimed).on_settled(settled);
}
