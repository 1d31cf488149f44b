"""A request to profile a job that runs, answered by each of its ranks through files in the run directory.

Whoever asks makes triggers/<n>/request.json. A rank that sees it says in rank-<r>.json which step it could profile first, and again
until the one who asks has written agreed-<k>.json, with a step that none has reached. Then it says whether that came in time. No rank
ever waits for another: where one was too late, it is for the one who asks to agree on a later step. `over` ends a request.
"""

import os

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "triggers")


class Requests:
    """What this rank has seen of them."""

    def __init__(self, rank_of):
        self._rank_of = rank_of
        self._number, self._round, self._over = -1, -1, True

    def look(self, free, step_ns, wish):
        """What has been agreed on since the last look, if this rank can still do it. `free` is the first step it could profile, and
        `step_ns` how long steps take, if that is known; before, there is no answer that would be of use."""
        try:
            numbers = [int(name) for name in os.listdir(_FOLDER) if name.isdigit()]
        except OSError:
            return None
        newest = max(numbers, default=-1)
        if newest > self._number:
            self._number, self._round, self._over = newest, -1, False
        if self._over:
            return None
        folder = os.path.join(_FOLDER, str(self._number))
        names = os.listdir(folder)
        if "over" in names:
            self._over = True
            return None
        rounds = [int(name[7:-5]) for name in names if name.startswith("agreed-") and name.endswith(".json")]
        newest = max(rounds, default=-1)
        if newest > self._round:
            return self._heed(folder, newest, free, step_ns, wish)
        if self._round < 0 and "request.json" in names and step_ns is not None:
            self._answer("here", free=free, step_ns=step_ns)
        return None

    def _heed(self, folder, newest, free, step_ns, wish):
        import json

        self._round = newest
        with open(os.path.join(folder, "agreed-%d.json" % newest)) as file:
            agreed = json.load(file)
        first = agreed["first_step"]
        in_time = first >= free
        self._answer("accepted" if in_time else "late", round=newest, free=free, step_ns=step_ns or 0)
        if not in_time:
            return None
        return wish(first, agreed["steps"], tuple(agreed["details"]), agreed["request"], of=(self._number, newest))

    def done(self, wish, outcome):
        if wish.of is not None:
            number, of_round = wish.of
            if number == self._number and of_round == self._round:
                self._answer("done", round=of_round, free=wish.first + wish.steps, outcome=outcome)

    def _answer(self, state, **more):
        import json

        import rankscope_words

        rank = self._rank_of() or 0
        about = dict(more, rank=rank, state=state, world_size=rankscope_words.world_size(), pid=os.getpid())
        folder = os.path.join(_FOLDER, str(self._number))
        partial = os.path.join(folder, ".rank-%d.%d.partial" % (rank, os.getpid()))
        with open(partial, "w") as file:
            file.write(json.dumps(about) + "\n")
        os.replace(partial, os.path.join(folder, "rank-%d.json" % rank))
