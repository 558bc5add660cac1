// Puts items where the examples look for them: enqueue COUNT.
#include <readpast.hpp>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

int main(int argc, char **argv) {
    try {
        const readpast::config config(std::getenv("READPAST_CONNECTION"));
        readpast::install(config, R"json({"queue": "Notification", "types": ["Email", "Sms"], "columns": [
            {"name": "Recipient", "type": "text(254)"}, {"name": "Subject", "type": "text(200)"},
            {"name": "Body", "type": "text"}]})json");
        std::vector<readpast::new_item> items;
        for (int number = 1; argc > 1 && number <= std::stoi(argv[1]); number++)
            items.push_back({R"({"Recipient": "customer-)" + std::to_string(number) + R"(@example.com"})"});
        readpast::queue(config, "Notification").enqueue(items);
        return EXIT_SUCCESS;
    } catch (const std::exception &failure) {
        std::cerr << failure.what() << '\n';
        return EXIT_FAILURE;
    }
}
