// Spans of C++ end with their scope, whatever leaves it, and move without ending twice.
#include <cstring>
#include <stdexcept>
#include <thread>
#include <utility>

#include <rankscope.hpp>

#include "check.h"

namespace {

RANKSCOPE_SITE(site, "site");
RANKSCOPE_KEY(key, "key");

void throws(int depth) {
    const rankscope::span span(site, {rankscope::arg(key, depth)});
    if (depth == 0) {
        throw std::runtime_error("from within");
    }
    throws(depth - 1);
}

void every_type() {
    const rankscope::span span(
        site, {rankscope::arg(key, true), rankscope::arg(key, 1), rankscope::arg(key, 1L), rankscope::arg(key, 1LL),
               rankscope::arg(key, 1U), rankscope::arg(key, 1UL), rankscope::arg(key, 1ULL), rankscope::arg(key, 0.5),
               rankscope::arg(key, "text"), rankscope::arg(key, std::string_view("view"))});
    CHECK(span.is_recording() && span.correlation_id() != 0);
}

void errors_have_code_and_text() {
    try {
        const rankscope::session session = rankscope::session::to_file("/nowhere/at/all.rkr");
        CHECK(false);
    } catch (const rankscope::error &error) {
        CHECK(error.status() == RANKSCOPE_STATUS_IO);
        CHECK(std::strstr(error.what(), "/nowhere/at/all.rkr") != nullptr);
    }
}

} // namespace

int main() {
    errors_have_code_and_text();
    rankscope::session session;
    for (int turn = 0; turn < 3; turn++) {
        try {
            throws(9);
        } catch (const std::runtime_error &) {
        }
    }
    every_type();
    rankscope::span first(site);
    rankscope::span second(std::move(first));
    first.end();
    second.end();
    second.end();
    std::thread([] {
        const rankscope::correlated correlated(77);
        CHECK(rankscope_correlation_current() == 77);
        RANKSCOPE_SPAN("elsewhere");
    }).join();
    { const auto step = rankscope::span::step(3); }
    { const rankscope::phase saving(RANKSCOPE_PHASE_CHECKPOINT); }
    {
        const auto snapshot = session.snapshot();
    }
    const auto report = session.stop();
    CHECK(report.spans == 34 && report.misuse == 0 && report.misnested == 0);
    try {
        session.stop();
        CHECK(false);
    } catch (const rankscope::error &error) {
        CHECK(error.status() == RANKSCOPE_STATUS_ALREADY_STOPPED);
    }
    { rankscope::session other; const rankscope::session moved(std::move(other)); }
    CHECK(rankscope_begin(&site).epoch == 0);
    std::puts("every span ended once");
    return 0;
}
