// Settings, and installing with them.
#ifndef READPAST_CONFIG_HPP
#define READPAST_CONFIG_HPP

#include <readpast/detail/handle.hpp>
#include <readpast/error.hpp>
#include <readpast/text.hpp>
#include <readpast/version.hpp>

#include <fstream>
#include <ios>
#include <iterator>
#include <string>
#include <utility>

namespace readpast {

/// The settings that a queue is opened with. The library's README lists them; only "connection" has to be set.
class config {
public:
    /// All settings at their defaults. Throws with status::unsupported if the library has another binary interface.
    config() {
        detail::require_abi();
        handle_ = handle(readpast_config_new());
        if (!handle_)
            throw error(status::exhausted, "there are too many objects of readpast already");
    }

    /// With an ODBC connection string, with the driver in it. A null pointer is refused like any other mistake, so that it
    /// may come from std::getenv.
    explicit config(const text &connection) : config() { set("connection", connection); }

    /// Sets a setting: set("lease.ms", "30000"). Set again, it takes the last value. Throws with status::invalid_config
    /// when there is no such setting, or it does not take this value; the message names the range.
    config &set(const text &key, const text &value) & {
        detail::call(readpast_config_set, handle_.get(), key.c_str(), value.c_str());
        return *this;
    }

    config set(const text &key, const text &value) && { return std::move(set(key, value)); }

    /// For calls of the C library; remains this object's.
    [[nodiscard]] readpast_config native_handle() const noexcept { return handle_.get(); }

private:
    using handle = detail::handle<readpast_config, readpast_config_free>;
    handle handle_;
};

/// Installs readpast's own objects into the schema that the settings name, or upgrades them, and the queue that `spec`
/// describes, if there is one: text, JSON or TOML, as sql/SPEC.md explains. It leaves alone what is there as it should
/// be, so it can be called at every start. Needs the rights to create objects; workers do not.
inline void install(const config &settings, const text &spec = nullptr) {
    detail::call(readpast_install, settings.native_handle(), spec.c_str());
}

/// The same, with the description in a file. Throws std::ios_base::failure when it cannot be read.
inline void install_file(const config &settings, const std::string &name) {
    std::ifstream file;
    file.exceptions(std::ios::failbit | std::ios::badbit);
    file.open(name, std::ios::binary);
    install(settings, std::string(std::istreambuf_iterator<char>(file), {}));
}

} // namespace readpast

#endif
