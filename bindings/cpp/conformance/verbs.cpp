// One function a verb: the arguments, the call, the answer.
#include "adapter.hpp"

#ifndef _WIN32 // which has no fork
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <array>
#include <map>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace {

using std::chrono::milliseconds;

/// The request and the objects that every verb works with.
struct call {
    objects &kept;
    const json &request;

    [[nodiscard]] std::string name(const char *member) const { return name_of(request, member); }
    [[nodiscard]] std::optional<std::string> text(const char *member) const { return text_of(request, member); }
    [[nodiscard]] std::int32_t number(const char *member, std::int32_t otherwise) const {
        return number_of(request, member, otherwise);
    }
    [[nodiscard]] milliseconds time(const char *member) const {
        return time_of(request, member).value_or(milliseconds(0));
    }
    [[nodiscard]] std::shared_ptr<const readpast::queue> queue() const { return kept.queues.get(name("queue")); }
    [[nodiscard]] std::shared_ptr<const readpast::batch> batch() const { return kept.batches.get(name("batch")); }
    [[nodiscard]] std::shared_ptr<const readpast::renewal> renewal() const {
        return kept.renewals.get(name("renewal"));
    }

    /// Keeps the batch that a call claimed or found, if the driver wants that.
    void keep(readpast::batch batch) const {
        if (const auto as = text("as"); as && batch)
            kept.batches.keep(*as, std::move(batch));
    }
};

json ok() {
    return answer_of(readpast::status::ok);
}

json with(json answer, const char *member, json value) {
    answer[member] = std::move(value);
    return answer;
}

json hello(const call & /*unused*/) {
    json answer = ok();
    answer["language"] = "cpp";
    answer["version"] = readpast::version();
    answer["abi"] = readpast::abi();
    return answer;
}

json describe(const call &call) {
    return with(ok(), "name", readpast::name(static_cast<readpast::status>(call.number("status", 0))));
}

json install(const call &call) {
    readpast::install(config_of(call.request), json_of(call.request, "spec"));
    return ok();
}

json open(const call &call) {
    readpast::queue queue(config_of(call.request), call.text("name"));
    json answer = with(ok(), "worker", queue.worker());
    answer["lease_ms"] = queue.lease().count();
    call.kept.queues.keep(call.name("queue"), std::move(queue));
    return answer;
}

json share(const call &call) {
    const auto place = call.text("place");
    call.kept.queues.keep(call.name("as"), place ? call.queue()->at(*place) : call.queue()->share());
    return ok();
}

json enqueue(const call &call) {
    return answer_of(call.queue()->enqueue(new_items_of(call.request), call.text("operation")));
}

json claimed(const call &call, readpast::batch batch) {
    json answer = answer_of(batch.status());
    if (batch)
        answer["items"] = items_of(batch);
    call.keep(std::move(batch));
    return answer;
}

json claim(const call &call) {
    return claimed(call, call.queue()->claim(call.number("max", 1), call.time("wait_ms")));
}

json wait_for(const call &call) {
    return claimed(call, call.queue()->wait_for(call.text("key"), call.time("wait_ms")));
}

json find(const call &call) {
    return claimed(call,
                   call.queue()->find(json_of(call.request, "filter"), call.text("after"), call.number("max", 1000)));
}

json settle(const call &call) {
    return answer_of(call.queue()->settle(settlements_of(call.request), call.text("operation")));
}

json settle_and_claim(const call &call) {
    auto both =
        call.queue()->settle_and_claim(settlements_of(call.request), call.number("max", 1), call.text("operation"));
    json answer = with(answer_of(both.outcomes), "items", items_of(both.claimed));
    call.keep(std::move(both.claimed));
    return answer;
}

json renew(const call &call) {
    return answer_of(call.queue()->renew(leases_of(call.request)));
}

json ask(const call &call) {
    return with(ok(), "answer", json::parse(call.queue()->ask(call.text("what"), json_of(call.request, "arguments"))));
}

json metrics(const call & /*unused*/) {
    return with(ok(), "text", readpast::metrics());
}

json interrupt(const call &call) {
    call.queue()->interrupt();
    return ok();
}

json resume(const call &call) {
    call.queue()->resume();
    return ok();
}

json close_queue(const call &call) {
    call.queue()->close(call.time("timeout_ms"));
    return ok();
}

json let_go(const call &call) {
    if (const auto queue = call.text("queue"))
        call.kept.queues.let_go(*queue);
    if (const auto batch = call.text("batch"))
        call.kept.batches.let_go(*batch);
    if (const auto renewal = call.text("renewal"))
        call.kept.renewals.let_go(*renewal);
    return ok();
}

json renewal_start(const call &call) {
    call.kept.renewals.keep(call.name("as"), readpast::renewal(*call.queue(), *call.batch(), call.time("interval_ms")));
    return ok();
}

json renewal_release(const call &call) {
    return answer_of(call.renewal()->release(call.name("key")) ? readpast::status::ok : readpast::status::not_found);
}

json renewal_lost(const call &call) {
    return with(ok(), "keys", call.renewal()->lost_keys());
}

json value(const call &call) {
    const auto batch = call.batch();
    try {
        json answer = ok();
        const auto &item = (*batch)[static_cast<std::size_t>(call.number("index", 0))];
        answer.update(value_of(item[call.name("column")]));
        return answer;
    } catch (const std::out_of_range &) {
        return answer_of(readpast::status::not_found);
    }
}

#ifndef _WIN32
/// The answer that a child process gets when it goes on with its parent's queue.
json claim_in_child(const call &call) {
    const auto queue = call.queue();
    std::array<int, 2> ends{};
    auto status = readpast::status::ok;
    const pid_t child = pipe(ends.data()) == 0 ? fork() : -1;
    if (child == 0) {
        try {
            status = queue->claim(1).status();
        } catch (const readpast::error &failure) {
            status = failure.status();
        }
        _exit(write(ends[1], &status, sizeof status) == sizeof status ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    close(ends[1]);
    if (child < 0 || read(ends[0], &status, sizeof status) != sizeof status || waitpid(child, nullptr, 0) != child)
        throw std::runtime_error("the child did not end as it should");
    close(ends[0]);
    return answer_of(status);
}
#endif

json work_on(const call &call) {
    return work(*call.queue(), call.request);
}

} // namespace

json make_call(objects &kept, const json &request) {
    static const std::map<std::string_view, json (*)(const call &)> verbs{
        {"hello", hello},
        {"describe", describe},
        {"install", install},
        {"open", open},
        {"share", share},
        {"enqueue", enqueue},
        {"claim", claim},
        {"settle", settle},
        {"settle_and_claim", settle_and_claim},
        {"renew", renew},
        {"wait_for", wait_for},
        {"find", find},
        {"ask", ask},
        {"metrics", metrics},
        {"interrupt", interrupt},
        {"resume", resume},
        {"close", close_queue},
        {"free", let_go},
        {"renewal_start", renewal_start},
        {"renewal_release", renewal_release},
        {"renewal_lost", renewal_lost},
        {"value", value},
#ifndef _WIN32
        {"claim_in_child", claim_in_child},
#endif
        {"work", work_on},
    };
    const auto verb = verbs.find(name_of(request, "do"));
    if (verb == verbs.end())
        return {{"status", "UNSUPPORTED"}};
    try {
        return verb->second({kept, request});
    } catch (const readpast::error &failure) {
        return answer_of(failure);
    }
}
