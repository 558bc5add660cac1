// The figures of this process, for monitoring systems.
#ifndef READPAST_METRICS_HPP
#define READPAST_METRICS_HPP

#include <readpast/detail/made_text.hpp>
#include <readpast/error.hpp>
#include <readpast/version.hpp>

#include <string>

namespace readpast {

/// The figures of this process's work with its queues since it began, in Prometheus' text format (text/plain;
/// version=0.0.4; charset=utf-8), for a page that Prometheus scrapes: claims, settlements by their answers, retries, errors,
/// durations of calls, connections and workers. docs/operate.md lists the names. Asks no server; any thread may call it at
/// any time.
[[nodiscard]] inline std::string metrics() {
    detail::require_abi();
    readpast_text raw = {0};
    detail::call(readpast_metrics, &raw);
    return detail::made_text(raw);
}

} // namespace readpast

#endif
