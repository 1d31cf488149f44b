/*
 * rankscope.h: a C or C++ program records itself. C99 or C++17, GCC or Clang.
 *
 * Written by `cargo xtask header --write` from the library's source; changes here are lost.
 *
 *     #include <rankscope.h>
 *
 *     RANKSCOPE_SITE(forward, "forward");
 *
 *     uint64_t session;
 *     rankscope_session_options options = RANKSCOPE_SESSION_OPTIONS_INIT;
 *     options.path = "rank%r.rkr";                     // survives a kill
 *     rankscope_session_start(&options, &session);
 *     rankscope_span span = rankscope_begin(&forward);
 *     // ... work ...
 *     rankscope_end(span);
 *     rankscope_session_stop(session);
 *     rankscope_export(session, NULL, "rank0.pftrace"); // for ui.perfetto.dev
 *     rankscope_session_close(session);
 *
 * Rules for all of it. Any thread may call anything. Nothing has to be initialised, and nothing recorded before a session starts,
 * after it stops or in the child of a fork does harm. A pointer is null, or points to what is said of it, for as long as the call;
 * texts are UTF-8. What is refused is counted (`rankscope_stats.calls_refused`), and functions that answer with a
 * `rankscope_status` say why in `rankscope_last_error`. Structures begin with their size: set it.
 */
