#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <readpast.hpp>

struct send_mail {
    std::string to;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(send_mail, to)

// The work is JSON in one column. Any JSON library will do.
template <class Work> Work document(const readpast::item &item) {
    return nlohmann::json::parse(item.text("Document").value()).get<Work>();
}

struct resize {
    std::string file;
};

// Its members are columns.
void from_item(const readpast::item &item, resize &work) {
    work.file = item.text("File").value();
}

int main() try {
    const readpast::config config(std::getenv("READPAST_CONNECTION"));
    readpast::install(config, R"json({"queue": "Jobs", "types": ["SendMail", "Resize"], "columns": [
        {"name": "Document", "type": "json"}, {"name": "File", "type": "text"}]})json");
    const readpast::queue queue(config, "Jobs");
    queue.enqueue({{R"({"Document": {"to": "a@example.org"}})"}, {R"({"File": "x.png"})", "Resize"}});

    readpast::handlers handlers;
    handlers.handle("SendMail", document<send_mail>, [](const send_mail &mail, readpast::job &job) {
        std::cout << "mail to " + mail.to + '\n';
        return job.complete("250 OK");
    });
    handlers.handle<resize>("Resize",
                            [](const resize &work, readpast::job &) { std::cout << "resize " + work.file + '\n'; });
    readpast::worker worker(queue);
    worker.until_empty();
    worker.run(handlers);
} catch (const readpast::error &failure) {
    std::cerr << failure.what() << '\n';
    return EXIT_FAILURE;
}
