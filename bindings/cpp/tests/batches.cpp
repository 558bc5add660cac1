// Batches, and what lives how long.
#include "support.hpp"

#include <doctest/doctest.h>

#include <iterator>
#include <stdexcept>
#include <type_traits>
#include <utility>

using readpast::batch;
using readpast::status;

template <class Owner>
constexpr bool moves_only = std::is_nothrow_move_constructible_v<Owner> && std::is_nothrow_move_assignable_v<Owner> &&
                            !std::is_copy_constructible_v<Owner> && !std::is_copy_assignable_v<Owner>;

static_assert(moves_only<readpast::config> && moves_only<readpast::queue> && moves_only<batch>);
static_assert(moves_only<readpast::renewal>);
static_assert(!std::is_move_constructible_v<readpast::worker> && !std::is_copy_constructible_v<readpast::job>);
static_assert(std::is_nothrow_default_constructible_v<batch> && std::is_trivially_copyable_v<readpast::item>);
static_assert(std::is_nothrow_move_constructible_v<readpast::settlement>);
static_assert(
    std::is_same_v<std::iterator_traits<batch::iterator>::iterator_category, std::random_access_iterator_tag>);

TEST_CASE("a batch is a range in the order that items were due") {
    const auto items = claimed(open(), {"a", "b", "c"});
    CHECK(items.status() == status::ok);
    CHECK(items);
    std::string payloads;
    for (const auto &item : items) {
        payloads += *item.text("Payload");
        CHECK(item.attempt() == 1);
        CHECK_FALSE(item.key().empty());
        CHECK_FALSE(item.token().empty());
    }
    CHECK(payloads == "abc");
    CHECK(items.size() == 3);
    CHECK(std::distance(items.begin(), items.end()) == 3);
    CHECK(items[2].text("Payload") == "c");
    CHECK_THROWS_WITH_AS((void)items[3], "item 3 of a batch of 3", std::out_of_range);
}

TEST_CASE("nothing due is an empty batch") {
    const auto items = open().claim(5);
    CHECK(items.status() == status::empty);
    CHECK_FALSE(items);
    CHECK(items.empty());
    CHECK(items.begin() == items.end());
    CHECK(items.columns().empty());
    CHECK(batch().status() == status::empty);
}

TEST_CASE("a batch that moves leaves the values in their place") {
    auto items = claimed(open(), {"a", "b"});
    const auto &first = items[0];
    const auto key = first.key();
    const auto payload = *first.text("Payload");
    batch moved = std::move(items);
    CHECK(items.empty()); // NOLINT(bugprone-use-after-move): what it is then is promised
    CHECK(&moved[0] == &first);
    CHECK(key == first.key());
    CHECK(payload == "a");
    moved = claimed(open(), {"c"});
    CHECK(moved.size() == 1);
    CHECK(moved[0].text("Payload") == "c");
}

TEST_CASE("a batch does not need its queue, and its settlements do not need it") {
    const auto name = install();
    batch items;
    {
        const readpast::queue queue(settings(), name);
        items = claimed(queue, {"still here"});
        queue.close(std::chrono::seconds(600));
    }
    CHECK(items[0].text("Payload") == "still here");
    const readpast::item item = items[0];
    const auto settlement = items[0].complete("done");
    items = batch();
    CHECK(settlement.key.size() > 10);
    CHECK(thrown_by([&] { (void)item.find("Payload"); }) == status::invalid_handle);
    CHECK(thrown_by([&] { (void)item.json(); }) == status::invalid_handle);
}

TEST_CASE("an object that was moved from reports that, and can be assigned to") {
    auto queue = open();
    auto other = std::move(queue);
    CHECK(thrown_by([&] { (void)queue.claim(); }) == status::invalid_handle); // NOLINT(bugprone-use-after-move)
    CHECK(queue.worker().empty());
    CHECK(queue.lease().count() == 0);
    queue = std::move(other);
    CHECK(queue.claim().empty());
    CHECK(queue.lease().count() > 0);

    auto config = settings();
    const auto moved = std::move(config);
    CHECK(thrown_by([&] { config.set("worker", "w"); }) == status::invalid_handle); // NOLINT(bugprone-use-after-move)

    const auto items = claimed(queue, {"a"});
    readpast::renewal renewal(queue, items);
    const auto kept = std::move(renewal);
    CHECK(kept.release(items[0].key()));
    CHECK(renewal.lost_count() == 0); // NOLINT(bugprone-use-after-move)
    CHECK(thrown_by([&] { renewal.release("k"); }) == status::invalid_handle);
}
