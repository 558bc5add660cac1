// A queue of its own for each test, on the server that READPAST_CONNECTION names.
#ifndef SUPPORT_HPP
#define SUPPORT_HPP

#include <readpast.hpp>

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

/// Short polls and retries: tests do not wait for long.
readpast::config settings();

/// Makes a queue with a column of each type, the text in "Payload", and returns its name.
std::string install();

readpast::queue open();

/// A new item with one column. `value` is JSON, and a text if it begins with none of its signs.
readpast::new_item with(std::string_view column, std::string_view value);
readpast::new_item with_payload(std::string_view payload);

void enqueue(const readpast::queue &queue, std::initializer_list<std::string_view> payloads);

/// Enqueues items that differ in their payload, and claims them all.
readpast::batch claimed(const readpast::queue &queue, std::initializer_list<std::string_view> payloads);

/// An identity for an operation: a UUID that no call has used.
std::string identity();

/// One column of all items, in the order of their keys.
std::vector<std::string> column(const readpast::queue &queue, std::string_view name);

/// Waits until something is so; fails the test if it does not become so for ten minutes.
void until(const std::function<bool()> &is_so);

/// The status of the error that a call throws; ok when it throws none.
readpast::status thrown_by(const std::function<void()> &call);

bool contains(std::string_view text, std::string_view part);

#endif
