"""Which steps are wished for: the words of `rankscope run --profile`, as it hands them on in RANKSCOPE_PROFILE.

Steps have the numbers that torch.profiler would give them, from 0. Words that are not understood make an empty plan: the command has
refused them before the job began.
"""


class Wish:
    """Steps to profile: the first, how many, what to record of them, and who asked."""

    def __init__(self, first, steps, details, request, of=None):
        self.first, self.steps, self.details, self.request, self.of = first, steps, details, request, of


class Plan:
    """Windows of `steps` from step `first` on, one each `period`, `times` in all."""

    def __init__(self, first, steps, period, times, details, request):
        self._first, self._steps, self._period, self._left = first, steps, period, times
        self._details, self._request = details, request

    def next(self, number, lead):
        """The first window that is not over when step `number` begins."""
        if not self._left:
            return None
        first = self._first
        if self._period and number > first:
            first += -(-(number - first) // self._period) * self._period
        return Wish(first, self._steps, self._details, self._request)

    def due(self, number, lead):
        wish = self.next(number, lead)
        return float("inf") if wish is None else wish.first - lead

    def taken(self, wish):
        if wish.of is None:
            self._left -= 1
            self._first = wish.first + (self._period or 1)


def plan(text):
    try:
        words = (text or "").split(",")
        values = dict(word.split("=", 1) for word in words if "=" in word)
        details = tuple(word for word in words if word in ("shapes", "stack", "memory"))
        if "@" in values.get("steps", ""):
            steps, first = values["steps"].split("@")
            return Plan(int(first), int(steps), 0, 1, details, text)
        if "every" in values:
            period = int(values["every"])
            return Plan(period, int(values["steps"]), period, int(values["times"]), details, text)
    except ValueError:
        pass
    return Plan(0, 1, 0, 0, (), "")
