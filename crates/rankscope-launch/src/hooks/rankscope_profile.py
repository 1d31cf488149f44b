"""Profiles that nobody wrote into the script: `rankscope run --profile` and `rankscope trigger` have this count the steps of a process
and switch its profiler on for some of them.

The one idea: a boundary between two steps is where anything happens, and it costs a comparison unless something is due. Nothing here
waits for another rank, and whatever goes wrong is said once, written down for run.json, and never reaches the script. A script that
profiles itself is left alone: no window opens while its own profiler is at work, and one that is open gives way to it.
"""

import atexit
import os
import sys
import time

import rankscope_agree
import rankscope_plan
import rankscope_words

_LOOK_S = 0.25


class Steps:
    """The steps of this process. `open_window(number, wish)` starts a profiler at the boundary before step `number`; what it returns has
    `step(number)`, which says whether it is done, `close()`, which ends it at once, and `discard()`, which also keeps nothing. `lead`
    is how many steps before the first one a profiler is to be switched on. `busy()` says that the script profiles itself."""

    def __init__(self, raw, open_window, lead, rank_of, busy):
        self._raw, self._open_window, self._lead, self._rank_of, self._busy = raw, open_window, lead, rank_of, busy
        self._forget()

    def _forget(self):
        self._pid = os.getpid()
        self._number = 0
        self._window = self._wish = None
        self._plan = rankscope_plan.plan(os.environ.get("RANKSCOPE_PROFILE"))
        self._requests = rankscope_agree.Requests(self._rank_of)
        self._look_at, self._looked = 0.0, None
        self._due = self._plan.due(0, self._lead)
        self._done = []

    def begins(self, number=None):
        """The step `number` begins, or the next one."""
        if os.getpid() != self._pid:
            # A fork that takes steps of its own is a rank of its own.
            self._forget()
        self._number = number = self._number + 1 if number is None else number
        now = time.monotonic()
        if number < self._due and now < self._look_at:
            return
        try:
            self._act(number, now)
        except Exception as error:
            self._failed(error)

    def gives_way(self):
        """The script's own profiler starts."""
        if self._window is not None and os.getpid() == self._pid:
            try:
                self._window.discard()
            except Exception:
                pass
            self._over("gave-way")

    def _act(self, number, now):
        if self._looked is None:
            # Not before, so that it comes before what the frameworks do at the end.
            atexit.register(self._at_exit)
        if self._window is not None and self._window.step(number):
            self._over("kept")
        if now >= self._look_at:
            self._look(number, now)
        wish = self._next(number)
        if self._window is None and wish is not None and number >= wish.first - self._lead:
            self._open(number, wish)
            wish = self._next(number)
        self._due = number if self._window is not None else sys.maxsize if wish is None else wish.first - self._lead

    def _look(self, number, now):
        # By the steps since the last look, as the first steps of a job take far longer than the others.
        last, self._looked, self._look_at = self._looked, (number, now), now + _LOOK_S
        step_ns = int((now - last[1]) * 1e9 / max(1, number - last[0])) if last is not None else None
        free = number
        if self._window is not None:
            free = self._window.end
        elif self._wish is not None:
            free = max(number, self._wish.first + self._wish.steps)
        found = self._requests.look(free + self._lead, step_ns, rankscope_plan.Wish)
        if found is not None:
            self._wish = found

    def _next(self, number):
        planned = self._plan.next(number, self._lead)
        both = [wish for wish in (self._wish, planned) if wish is not None]
        return min(both, key=lambda wish: wish.first) if both else None

    def _open(self, number, wish):
        if wish is self._wish:
            self._wish = None
        self._plan.taken(wish)
        self._current = wish
        if number > wish.first:
            self._tell("late")
        elif self._busy():
            self._tell("left-alone")
        else:
            self._window = self._open_window(number, wish)
            self._window.end = wish.first + wish.steps

    def _over(self, outcome, **more):
        self._window = None
        self._tell(outcome, **more)

    def _tell(self, outcome, **more):
        wish = self._current
        about = dict(more, request=wish.request, first_step=wish.first, steps=wish.steps, outcome=outcome)
        self._done.append(about)
        # A run of months may take very many.
        del self._done[:-1000]
        rankscope_words.about["profiled"] = self._done
        rankscope_words.tell(self._raw, self._rank_of() or 0)
        self._requests.done(wish, outcome)

    def _failed(self, error):
        window, self._window = self._window, None
        try:
            if window is not None:
                window.discard()
        except Exception:
            pass
        try:
            sys.stderr.write("rankscope: steps are not profiled: %r\n" % (error,))
            self._tell("failed", message=("%s: %s" % (type(error).__name__, error))[:400])
        except Exception:
            pass
        # What failed once fails again.
        self._plan, self._wish, self._due, self._look_at = rankscope_plan.plan(None), None, sys.maxsize, float("inf")

    def _at_exit(self):
        if os.getpid() != self._pid or not self._number:
            return
        try:
            if self._window is not None:
                self._window.close()
                self._over("cut-short", reached=self._number)
            wish = self._plan.next(self._number, self._lead) if not self._done else None
            if wish is not None:
                self._current = wish
                self._tell("not-reached", reached=self._number)
        except Exception as error:
            self._failed(error)
