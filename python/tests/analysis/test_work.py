"""While the pipeline works: signals, progress, defects."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import rankscope
from rankscope import _native


def many(traces, folder, copies=200):
    """More files than are read in a moment."""
    file = Path(traces) / "rank0.json.gz"
    for copy in range(copies):
        (folder / f"copy{copy}.json.gz").symlink_to(file)
    return folder


@pytest.mark.skipif(not hasattr(signal, "SIGINT") or os.name != "posix", reason="signals are POSIX")
def test_ctrl_c_ends_the_work(traces, tmp_path):
    begun = threading.Event()

    def press():
        begun.wait()
        os.kill(os.getpid(), signal.SIGINT)

    # Whoever started the tests in the background may have told them to ignore the key.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    key = threading.Thread(target=press, daemon=True)
    key.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            # So many that none is done before the key is pressed.
            rankscope.report(many(traces, tmp_path, copies=3000), progress=lambda *_: begun.set())
    finally:
        signal.signal(signal.SIGINT, before)
    key.join()


def test_what_a_listener_raises_ends_the_work(traces, tmp_path):
    class Enough(Exception):
        pass

    def listen(stage, done, of):
        raise Enough

    with pytest.raises(Enough):
        rankscope.report(many(traces, tmp_path), progress=listen)


def test_a_listener_hears_on_the_thread_that_asked(traces, tmp_path):
    heard = []

    def listen(stage, done, of):
        heard.append((threading.get_ident(), stage, done, of))

    with pytest.raises(rankscope.InputError):
        rankscope.report([many(traces, tmp_path), tmp_path / "broken*"], progress=listen)
        rankscope.report(tmp_path, rank=77, progress=listen)
    assert {thread for thread, *_ in heard} <= {threading.get_ident()}
    assert all(stage in ("reading", "writing") and done <= of or of == 0 for _, stage, done, of in heard)


def test_nothing_is_drawn_where_stderr_is_no_terminal(traces, capfd):
    rankscope.report(traces)
    assert capfd.readouterr() == ("", "")


def test_a_bar_is_drawn_where_it_is_asked_for(traces, tmp_path, capfd):
    with pytest.raises(rankscope.Error):
        rankscope.report(many(traces, tmp_path), progress=True, rank=77)
    assert "reading [" in capfd.readouterr().err


def test_several_threads_report_at_once(traces):
    expected, found = rankscope.report(traces).to_dict(), []
    threads = [threading.Thread(target=lambda: found.append(rankscope.report(traces).to_dict())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_is_told_why_it_cannot_work(traces, tmp_path):
    report = rankscope.report(traces)
    told = tmp_path / "told"
    child = os.fork()
    if child == 0:
        for act in (lambda: rankscope.report(traces), lambda: report.save(tmp_path / "saved.json")):
            try:
                act()
            except rankscope.Error as error:
                with told.open("a") as file:
                    print(error, file=file)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    first, second = told.read_text().splitlines()
    assert first == second and first.startswith("this process was forked")
    assert report.to_dict() == rankscope.report(traces).to_dict(), "the parent works on"


def test_a_defect_is_an_exception_and_the_process_goes_on(traces):
    with pytest.raises(rankscope.InternalError, match=f"a defect of rankscope {rankscope.__version__}: as if"):
        _native.panic_in_work("as if")
    assert rankscope.report(traces).title == traces


def test_importing_the_package_imports_no_other(tmp_path):
    script = "import rankscope, sys; print(*sorted({name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names)))"
    said = subprocess.run([sys.executable, "-S", "-c", script], capture_output=True, text=True, env=with_this_package())
    assert said.returncode == 0, said.stderr
    assert set(said.stdout.split()) <= {"rankscope", "__main__"}


def with_this_package():
    return {**os.environ, "PYTHONPATH": str(Path(rankscope.__file__).parents[1])}
