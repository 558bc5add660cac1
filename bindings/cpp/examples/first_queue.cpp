#include <cstdlib>
#include <iostream>
#include <readpast.hpp>

int main() try {
    const readpast::config config(std::getenv("READPAST_CONNECTION"));
    readpast::install(config, R"json({"queue": "Mail", "columns": [{"name": "Recipient", "type": "text(254)"}]})json");
    const readpast::queue queue(config, "Mail");
    queue.enqueue(readpast::new_item{R"({"Recipient": "a@example.org"})"});

    readpast::worker worker(queue);
    worker.until_empty(); // a service leaves this out, and calls worker.stop() at its end
    worker.run([](readpast::job &mail) { std::cout << "work on " << mail.text("Recipient").value() << '\n'; });
} catch (const readpast::error &failure) {
    std::cerr << failure.what() << '\n';
    return EXIT_FAILURE;
}
