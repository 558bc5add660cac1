// The adapter of the conformance suite for C++: tests/conformance/README.md describes what it is asked and how it answers.
// It reads one JSON object a line, makes the call, and writes one JSON object a line. It takes requests for well
// formed: the driver is our own.
#ifndef ADAPTER_HPP
#define ADAPTER_HPP

#include "objects.hpp"

#include <nlohmann/json.hpp>
#include <readpast.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

using nlohmann::json;

// requests.cpp: what a request holds. A member that is left out is the same as null.
std::optional<std::string> text_of(const json &request, const char *member);
std::string name_of(const json &request, const char *member); // a text that must be there
std::int32_t number_of(const json &request, const char *member, std::int32_t otherwise);
std::optional<std::chrono::milliseconds> time_of(const json &request, const char *member);
std::optional<std::string> json_of(const json &request, const char *member);
readpast::config config_of(const json &request);
std::vector<readpast::new_item> new_items_of(const json &request);
readpast::settlement settlement_of(const json &item);
void put_followers(readpast::settlement &settlement, const json &given);
std::vector<readpast::settlement> settlements_of(const json &request);
std::vector<readpast::lease> leases_of(const json &request);
readpast::action action_of(const json &name);

// answers.cpp: what is answered.
json answer_of(readpast::status status);
json answer_of(const readpast::error &failure);
json answer_of(const readpast::answers<readpast::receipt> &receipts);
json answer_of(const readpast::answers<readpast::outcome> &outcomes);
json items_of(const readpast::batch &batch);
json value_of(const readpast::value &value);

// verbs.cpp: makes the call that a request asks for.
json make_call(objects &kept, const json &request);

// work.cpp: the verb `work`.
json work(const readpast::queue &queue, const json &request);

#endif
