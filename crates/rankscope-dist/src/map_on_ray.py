"""Maps a plan on a Ray cluster: tasks that start `rankscope map`, each for its shard, and the merge here at the end.

A task hands back its exit code and some counts. Parts go from `rankscope` to the folder of parts and never through Ray, so its object
store stays empty, and whatever is lost (a worker, a node, this program) costs what was under way: run it again.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time

ANSWER_BYTES_MAX = 1024
RANKS_A_TASK_MAX = 8
TASKS_A_SLOT = 4
PAUSE_S = 1.0
PATIENCE_S = 20.0


def bounded(text):
    """The end of `text`: where it is long, what matters was said last."""
    return text.strip().encode()[-ANSWER_BYTES_MAX // 2 :].decode(errors="replace")


def end_with_parent():
    """Has the kernel end this process when the worker that started it dies."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGTERM)
    except (OSError, AttributeError):
        pass  # Elsewhere than on Linux it ends by itself, when its shard is done.


def mapped(words, shard):
    """One task: the exit code, what was done, and what was said about it. At most a kilobyte."""
    command = [*words, "--shard", shard]
    environment = {**os.environ, "RAYON_NUM_THREADS": "1"}
    pipe = subprocess.PIPE
    try:
        child = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment, preexec_fn=end_with_parent)
    except OSError as error:
        return 127, "", bounded(f"{words[0]}: {error}. It has to be installed at the same place on every node")
    try:
        said, complained = child.communicate()
    except BaseException:
        child.terminate()
        child.wait()
        raise
    return child.returncode, bounded(said), bounded(complained)


def task_count(wanted, ray):
    """As many tasks as suit the cluster: some for each of its processors, and one to eight ranks in each."""
    if wanted["shards"]:
        return wanted["shards"]
    slots = max(1, int(ray.cluster_resources().get("CPU", 1)))
    ranks = min(max(wanted["inputs"] // (TASKS_A_SLOT * slots), 1), RANKS_A_TASK_MAX)
    return max(1, -(-wanted["inputs"] // ranks))


def task_memory(wanted, ray):
    """What a task asks for. More than any node has would wait for ever."""
    largest = max((int(node["Resources"].get("memory", 0)) for node in ray.nodes() if node["Alive"]), default=0)
    if largest and largest < wanted["memory_bytes"]:
        told(f"a task may need {wanted['memory_bytes'] >> 20} MiB, and the largest node has {largest >> 20} MiB for tasks")
        return largest
    return wanted["memory_bytes"]


def told(text):
    print(f"rankscope: {text}", file=sys.stderr, flush=True)


class Progress:
    def __init__(self, of, as_json):
        self.of, self.as_json, self.begun, self.last = of, as_json, time.monotonic(), 0.0

    def tell(self, done, stage="mapping"):
        now = time.monotonic()
        over = stage != "mapping"
        if not over and now - self.last < PAUSE_S:
            return
        self.last = now
        seconds = round(now - self.begun, 3)
        if self.as_json:
            line = {"stage": stage, "done": done, "of": self.of, "seconds": seconds}
            print(json.dumps(line, separators=(",", ":")), file=sys.stderr, flush=True)
        elif sys.stderr.isatty():
            filled = 30 * done // max(self.of, 1)
            end = "\n" if over else ""
            print(f"\rmapping [{'=' * filled:30}] {done}/{self.of} tasks, {seconds:.0f} s", end=end, file=sys.stderr, flush=True)


def run_tasks(wanted, ray):
    """Maps every shard. Returns the exit code, 0 where all are mapped."""
    count = task_count(wanted, ray)
    options = dict(
        num_cpus=1,
        memory=task_memory(wanted, ray),
        # A worker or a node that dies is Ray's to replace; what a task answered is ours to judge.
        max_retries=wanted["retries"],
        retry_exceptions=False,
        scheduling_strategy="SPREAD",
    )
    task = ray.remote(mapped).options(**options)
    start = lambda shard: task.remote(wanted["map"], f"{shard}/{count}")
    waiting = {start(shard): (shard, 0) for shard in range(1, count + 1)}
    progress = Progress(count, wanted["json"])
    done = failed = 0
    while waiting:
        ready, _ = ray.wait(list(waiting), timeout=PAUSE_S)
        for answer in ready:
            shard, tries = waiting.pop(answer)
            try:
                code, _, complained = ray.get(answer)
            except ray.exceptions.RayError as error:
                code, complained = 1, bounded(f"shard {shard}/{count} was lost {wanted['retries'] + 1} times: {error}")
            if code == 0:
                done += 1
            elif code in wanted["final_codes"] or tries >= wanted["retries"]:
                told(f"shard {shard}/{count} failed with exit code {code}: {complained}")
                progress.tell(done, "failed")
                return code if code > 0 else 1
            else:
                failed += 1
                waiting[start(shard)] = (shard, tries + 1)
        progress.tell(done)
    progress.tell(done, "done")
    if failed:
        told(f"{failed} tasks failed and were tried again")
    return 0


def interrupted(number, frame):
    raise KeyboardInterrupt


def leave(ray, code):
    """Leaves the cluster, which ends what still runs for us; `code` is what it came to, and stands if Ray does not come to an end.

    Nothing is cancelled by itself: Ray (2.60) aborts a program that cancels a task which completes at that moment.
    """
    patience = threading.Timer(PATIENCE_S, os._exit, [code])
    patience.daemon = True
    patience.start()
    ray.shutdown()
    patience.cancel()


def main(wanted):
    try:
        import ray
    except ImportError:
        told(f"{sys.executable} has no ray. Name the Python of the cluster with --python")
        return 2
    signal.signal(signal.SIGTERM, interrupted)
    try:
        ray.init(address=wanted["address"], log_to_driver=False, logging_level="error")
    except (ConnectionError, ValueError) as error:
        told(f"no Ray cluster at {wanted['address']}: {bounded(str(error))}. Start one with `ray start --head`, or say --address local")
        return 1
    code = 1
    try:
        code = run_tasks(wanted, ray)
    except KeyboardInterrupt:
        told("cancelled. Parts that are done stay; the same command goes on")
        code = 130
    finally:
        leave(ray, code)
    if code == 0 and wanted["merge"]:
        os.execvp(wanted["merge"][0], wanted["merge"])
    return code
