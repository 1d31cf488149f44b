/*
 * rankscope for C++17: spans and sessions that end with their scope, over rankscope.h.
 *
 * Nothing here throws while it records. Starting, stopping and exporting throw rankscope::error, which has the code and the text; a
 * destructor never does.
 */
#ifndef RANKSCOPE_HPP
#define RANKSCOPE_HPP

#include "rankscope.h"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace rankscope {

/* What starting, stopping, exporting and looking failed with. */
class error : public std::runtime_error {
public:
    explicit error(rankscope_status status) : std::runtime_error(rankscope_last_error()), status_(status) {}

    rankscope_status status() const noexcept { return status_; }

private:
    rankscope_status status_;
};

namespace detail {

inline void check(rankscope_status status) {
    if (status != RANKSCOPE_STATUS_OK) {
        throw error(status);
    }
}

} // namespace detail

/* An argument; keys are made with RANKSCOPE_KEY. */
inline rankscope_arg arg(rankscope_site &key, std::string_view value) noexcept {
    rankscope_arg made = rankscope_arg_of(&key, RANKSCOPE_TYPE_TEXT, value.size());
    made.value.pointer = value.data();
    return made;
}
inline rankscope_arg arg(rankscope_site &key, const char *value) noexcept { return rankscope_text(&key, value); }
inline rankscope_arg arg(rankscope_site &key, bool value) noexcept { return rankscope_bool(&key, value ? 1 : 0); }
inline rankscope_arg arg(rankscope_site &key, double value) noexcept { return rankscope_f64(&key, value); }
inline rankscope_arg arg(rankscope_site &key, int value) noexcept { return rankscope_i64(&key, value); }
inline rankscope_arg arg(rankscope_site &key, long value) noexcept { return rankscope_i64(&key, value); }
inline rankscope_arg arg(rankscope_site &key, long long value) noexcept { return rankscope_i64(&key, value); }
inline rankscope_arg arg(rankscope_site &key, unsigned value) noexcept { return rankscope_u64(&key, value); }
inline rankscope_arg arg(rankscope_site &key, unsigned long value) noexcept { return rankscope_u64(&key, value); }
inline rankscope_arg arg(rankscope_site &key, unsigned long long value) noexcept { return rankscope_u64(&key, value); }

/* A span that ends with its scope, also when an exception leaves it. */
class [[nodiscard]] span {
public:
    explicit span(rankscope_site &site) noexcept : open_(rankscope_begin(&site)) {}
    span(rankscope_site &site, std::initializer_list<rankscope_arg> args) noexcept
        : open_(rankscope_begin_with(&site, args.begin(), args.size())) {}
    /* Step `number` of a training loop. */
    static span step(std::int64_t number) noexcept { return span(rankscope_begin_step(number)); }

    span(span &&other) noexcept : open_(std::exchange(other.open_, rankscope_no_span())) {}
    span(const span &) = delete;
    span &operator=(const span &) = delete;
    span &operator=(span &&) = delete;
    ~span() { end(); }

    /* Ends it now. */
    void end() noexcept { rankscope_end(std::exchange(open_, rankscope_no_span())); }
    /* Ends it now, with arguments that are known only now. */
    void end(std::initializer_list<rankscope_arg> args) noexcept {
        rankscope_end_with(std::exchange(open_, rankscope_no_span()), args.begin(), args.size());
    }

    bool is_recording() const noexcept { return open_.epoch != 0; }
    std::uint64_t correlation_id() const noexcept { return open_.id; }

private:
    explicit span(rankscope_span open) noexcept : open_(open) {}

    rankscope_span open_;
};

/* Device work that this thread launches belongs to a span of another one, while this lives. */
class [[nodiscard]] correlated {
public:
    explicit correlated(std::uint64_t id) noexcept { rankscope_correlation_push(id); }
    correlated(const correlated &) = delete;
    correlated &operator=(const correlated &) = delete;
    ~correlated() { rankscope_correlation_pop(); }
};

/* The process is in a phase, such as saving a checkpoint, while this lives. */
class [[nodiscard]] phase {
public:
    explicit phase(rankscope_phase which) noexcept : which_(which) { rankscope_phase_begin(which_); }
    phase(const phase &) = delete;
    phase &operator=(const phase &) = delete;
    ~phase() { rankscope_phase_end(which_); }

private:
    std::uint32_t which_;
};

/* What a session recorded so far. */
class snapshot {
public:
    explicit snapshot(std::uint64_t handle) noexcept : handle_(handle) {}
    snapshot(snapshot &&other) noexcept : handle_(std::exchange(other.handle_, 0)) {}
    snapshot(const snapshot &) = delete;
    snapshot &operator=(const snapshot &) = delete;
    snapshot &operator=(snapshot &&) = delete;
    ~snapshot() {
        if (handle_ != 0) {
            (void)rankscope_session_close(handle_);
        }
    }

    /* Writes it; the format is that of the name's end. */
    void save(const std::string &path) const { detail::check(rankscope_export(handle_, nullptr, path.c_str())); }

private:
    std::uint64_t handle_;
};

/* A recording that runs from here to `stop`, or to the end of the scope. */
class [[nodiscard]] session {
public:
    session() : session(default_options()) {}
    explicit session(const rankscope_session_options &options) { detail::check(rankscope_session_start(&options, &handle_)); }
    /* Into a live file, which survives the process. */
    static session to_file(const std::string &path) {
        rankscope_session_options options = default_options();
        options.path = path.c_str();
        return session(options);
    }

    session(session &&other) noexcept : handle_(std::exchange(other.handle_, 0)) {}
    session(const session &) = delete;
    session &operator=(const session &) = delete;
    session &operator=(session &&) = delete;
    ~session() {
        if (handle_ != 0) {
            (void)rankscope_session_close(handle_);
        }
    }

    static rankscope_session_options default_options() noexcept { return RANKSCOPE_SESSION_OPTIONS_INIT; }

    /* Stops it and says how it went. */
    rankscope_session_report stop() {
        detail::check(rankscope_session_stop(handle_));
        rankscope_session_report report{};
        report.struct_size = sizeof report;
        detail::check(rankscope_session_get_report(handle_, &report));
        return report;
    }

    rankscope::snapshot snapshot() const {
        std::uint64_t taken = 0;
        detail::check(rankscope_session_snapshot(handle_, &taken));
        return rankscope::snapshot(taken);
    }

    /* Writes what was recorded; the format is that of the name's end. */
    void save(const std::string &path) const { detail::check(rankscope_export(handle_, nullptr, path.c_str())); }

    std::uint64_t handle() const noexcept { return handle_; }

private:
    std::uint64_t handle_ = 0;
};

} // namespace rankscope

#define RANKSCOPE_JOINED_(a, b) a##b
#define RANKSCOPE_JOINED(a, b) RANKSCOPE_JOINED_(a, b)

/* A span over the rest of the scope: `RANKSCOPE_SPAN("forward");` */
#define RANKSCOPE_SPAN(text) \
    RANKSCOPE_SITE(RANKSCOPE_JOINED(rankscope_site_, __LINE__), text); \
    const ::rankscope::span RANKSCOPE_JOINED(rankscope_span_, __LINE__)(RANKSCOPE_JOINED(rankscope_site_, __LINE__))

#endif /* RANKSCOPE_HPP */
