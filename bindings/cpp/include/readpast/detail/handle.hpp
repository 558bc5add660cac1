// The owner of one handle of the library.
#ifndef READPAST_DETAIL_HANDLE_HPP
#define READPAST_DETAIL_HANDLE_HPP

#include <utility>

namespace readpast::detail {

/// Owns a handle, or the null handle, and frees it.
template <class Raw, auto Free> class handle {
public:
    handle() noexcept = default;
    explicit handle(Raw raw) noexcept : raw_(raw) {}
    handle(handle &&other) noexcept : raw_(std::exchange(other.raw_, Raw{0})) {}
    handle(const handle &) = delete;
    handle &operator=(const handle &) = delete;
    ~handle() { Free(raw_); }

    handle &operator=(handle &&other) noexcept {
        handle(std::move(other)).swap(*this);
        return *this;
    }

    void swap(handle &other) noexcept { std::swap(raw_, other.raw_); }

    [[nodiscard]] Raw get() const noexcept { return raw_; }
    explicit operator bool() const noexcept { return raw_.id != 0; }

private:
    Raw raw_ = {0};
};

} // namespace readpast::detail

#endif
