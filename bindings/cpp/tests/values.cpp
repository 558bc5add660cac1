// The values of items.
#include "support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

using readpast::column_type;
using readpast::status;

TEST_CASE("values stay as they are") {
    const auto queue = open();
    queue.enqueue({readpast::new_item{R"({"Payload": "gr\u00fc\u00df \"\\ \ud83d\ude00", "Number": -9223372036854775808,
        "Flag": true, "Ratio": 0.30000000000000004, "Amount": "-1234567890123456789012345678.0123456789",
        "At": "2026-11-21T08:30:00.123456Z", "Day": "2024-02-29", "Id": "0D6B6A52-8F9D-4C44-B044-08B98257037C"})"}});
    const auto batch = queue.claim();
    REQUIRE(batch.size() == 1);
    const auto &item = batch[0];
    CHECK(item.text("Payload") == "grüß \"\\ \U0001F600");
    CHECK(item.integer("Number") == std::numeric_limits<std::int64_t>::min());
    CHECK(item.boolean("Flag") == true);
    CHECK(item.floating("Ratio") == 0.1 + 0.2);
    CHECK(item.text("Amount") == "-1234567890123456789012345678.0123456789");
    CHECK(item.text("At")->substr(0, 26) == "2026-11-21T08:30:00.123456");
    CHECK(item.text("Day") == "2024-02-29");
    CHECK(item.text("Id")->size() == 36);
    CHECK(item.text("payload") == item.text("PAYLOAD"));
    CHECK(item["Payload"].text()->data()[item["Payload"].text()->size()] == '\0');
    CHECK(contains(item.json(), R"("Number":-9223372036854775808)"));
}

TEST_CASE("NULL is not empty and not zero") {
    const auto queue = open();
    queue.enqueue({with("Payload", R"("")"), with("Number", "0"), with("Flag", "false")});
    const auto batch = queue.claim(3);
    CHECK(batch[0].text("Payload") == "");
    CHECK_FALSE(batch[0]["Payload"].is_null());
    CHECK(batch[1].text("Payload") == std::nullopt);
    CHECK(batch[1]["Payload"].is_null());
    CHECK(batch[1].integer("Number") == 0);
    CHECK(batch[0].integer("Number") == std::nullopt);
    CHECK(batch[2].boolean("Flag") == false);
    CHECK(batch[0].boolean("Flag") == std::nullopt);
    CHECK(batch[0].floating("Ratio") == std::nullopt);
    CHECK(batch[0].text("Amount") == std::nullopt);
}

TEST_CASE("nothing is taken for something else") {
    const auto batch = claimed(open(), {"1"});
    const auto &item = batch[0];
    CHECK(thrown_by([&] { (void)item.integer("Payload"); }) == status::invalid_argument);
    CHECK(thrown_by([&] { (void)item.text("Number"); }) == status::invalid_argument);
    CHECK(thrown_by([&] { (void)item.boolean("Number"); }) == status::invalid_argument);
    CHECK(thrown_by([&] { (void)item.floating("Amount"); }) == status::invalid_argument);
    CHECK(thrown_by([&] { (void)item.binary("Payload"); }) == status::invalid_argument);
    try {
        (void)item.integer("Payload");
    } catch (const readpast::error &failure) {
        CHECK(std::string(failure.what()) == "the column holds TEXT, and is read as INTEGER");
    }
}

TEST_CASE("a column that is not there") {
    const auto batch = claimed(open(), {"a"});
    CHECK_FALSE(batch[0].find("Nonesuch"));
    CHECK(batch[0].find("Payload"));
    CHECK_THROWS_WITH_AS((void)batch[0].text("Nonesuch"), "the items have no column \"Nonesuch\"", std::out_of_range);
    CHECK(thrown_by([&] { (void)batch[0].find(nullptr); }) == status::invalid_argument);
}

TEST_CASE("bytes") {
    // Queues that readpast makes have no such columns; the conformance suite reads them from adopted tables.
    const std::uint8_t data[] = {0, 255, 16};
    readpast_value raw = READPAST_VALUE_INIT;
    raw.type = READPAST_TYPE_BINARY;
    raw.bytes = data;
    raw.length = 3;
    const auto bytes = *readpast::value(raw).binary();
    CHECK(bytes.size() == 3);
    CHECK(std::equal(bytes.begin(), bytes.end(), std::begin(data)));
    CHECK(thrown_by([&] { (void)readpast::value(raw).text(); }) == status::invalid_argument);
    raw.is_null = 1;
    CHECK(readpast::value(raw).binary().has_value() == false);
    CHECK(readpast::bytes().empty());
}

TEST_CASE("a document stays as it is written") {
    const auto name = install();
    readpast::install(settings(), R"({"queue": ")" + name + R"(J", "columns": [{"name": "Body", "type": "json"}]})");
    const readpast::queue queue(settings(), name + "J");
    const std::string document = R"({"n": 123456789012345678901234567890, "d": 1.10})";
    queue.enqueue(readpast::new_item{R"({"body": )" + document + "}"});
    const auto batch = queue.claim();
    REQUIRE(batch.size() == 1);
    CHECK(batch[0]["Body"].type() == column_type::json);
    CHECK(batch[0].text("Body") == document);
    CHECK(contains(batch[0].json(), "\"Body\":" + document));
}

TEST_CASE("columns") {
    const auto batch = claimed(open(), {"a"});
    const auto columns = batch.columns();
    const auto number = std::find_if(columns.begin(), columns.end(), [](auto &each) { return each.name == "Number"; });
    REQUIRE(number != columns.end());
    CHECK(number->type == column_type::integer);
    CHECK(batch[0]["Number"].type() == column_type::integer);
    for (std::size_t i = 0; i < columns.size(); i++) {
        CHECK(batch[0].at(i).type() == columns[i].type);
        CHECK(batch[0].at(i).is_null() == batch[0][columns[i].name].is_null());
    }
    CHECK_THROWS_AS((void)batch[0].at(columns.size()), std::out_of_range);
    CHECK_THROWS_AS((void)batch[0].at(std::numeric_limits<std::size_t>::max()), std::out_of_range);
}
