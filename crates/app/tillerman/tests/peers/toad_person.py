"""A person at a terminal uses Toad, a full-screen client of the Agent Client Protocol, to work with the agent.

One line per check: `ok NAME` or `FAIL NAME: why` with the screen; exit code 1 when one failed.

    PEER_AGENT  the program under test
    PEER_LOGS   directory for the frames of the agent
"""

import fcntl
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import sys
import tempfile
import termios
import time

import pyte

AGENT = os.environ["PEER_AGENT"]
LOG = pathlib.Path(os.environ["PEER_LOGS"]) / f"toad-{os.getpid()}.log"
STARTER = pathlib.Path(__file__).with_name("toad_lazy.py")
COLUMNS, ROWS = 170, 60
# Longer than any single step takes on a busy machine.
PATIENCE_S = 40
# Nobody listens there: the program may not call home from a test.
NOWHERE = "http://127.0.0.1:9"
READY = "How can I help you today?"

home = pathlib.Path(tempfile.mkdtemp(prefix="peer-")).resolve()
work = home / "work"
work.mkdir()
settings = home / ".config/toad/toad.json"
settings.parent.mkdir(parents=True)
settings.write_text(json.dumps({"statistics": {"allow_collect": False}, "tools": {"expand": "both"}}))


class Terminal:
    def __init__(self):
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self.stream = pyte.ByteStream(self.screen)
        env = {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(home), "TILLERMAN_HOME": str(home / "tillerman")}
        env |= {"LANG": "C.UTF-8", "TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONDONTWRITEBYTECODE": "1"}
        env |= {"HTTP_PROXY": NOWHERE, "HTTPS_PROXY": NOWHERE, "ALL_PROXY": NOWHERE}
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
            agent = f"{AGENT} acp --model tour --log-frames {LOG}"
            os.execve(sys.executable, [sys.executable, str(STARTER), "acp", agent, str(work)], env)

    def rows(self):
        return ["".join(row[x].data for x in range(COLUMNS)).rstrip() for row in map(self.screen.buffer.__getitem__, range(ROWS))]

    def lines(self, *parts):
        return [row for row in self.rows() if all(part in row for part in parts)]

    def read(self):
        ready, _, _ = select.select([self.fd], [], [], 0.05)
        if ready:
            try:
                self.stream.feed(os.read(self.fd, 65536))
            except OSError as gone:
                raise AssertionError("the program has ended") from gone

    def until(self, what, test):
        deadline = time.monotonic() + PATIENCE_S
        while not test():
            assert time.monotonic() < deadline, f"{what} did not happen"
            self.read()

    def sees(self, *parts):
        self.until(f"a line with {parts}", lambda: self.lines(*parts))

    def press(self, keys):
        os.write(self.fd, keys.encode())

    def prompt(self, text):
        """Types when the program is ready for it, and sends when all of it is there."""
        self.sees(READY)
        # How full the context is: the agent said it, so there is a session.
        self.sees("%)")
        self.press(text)
        self.sees(text[-20:])
        self.press("\r")
        self.until("the sending", lambda: self.lines(READY) or self.lines("Approval request") or not self.lines("⏎ Send"))

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


terminal = Terminal()


def file(name, text):
    (work / name).write_text(text)


def it_starts_and_a_prompt_is_answered():
    terminal.prompt('think "let me see" say hello-from-the-agent')
    terminal.sees("▌hello-from-the-agent")


def calls_get_their_ticks_and_show_their_output():
    file("a.txt", "alpha beta\n")
    terminal.prompt('call read_file {"path":"a.txt"} then call grep {"pattern":"alph."} then say read-it')
    terminal.sees("▌read-it")
    terminal.sees("🔧", "a.txt", "✔")
    terminal.sees("🔧", "alph.", "✔")
    # What was read is folded away, what was found is not.
    terminal.sees("alpha beta")


def a_call_that_fails_is_shown_as_failed():
    # Toad reads files itself, and finds every one of them; directories are ours.
    terminal.prompt('call list_dir {"path":"nowhere"} then say not-there')
    terminal.sees("▌not-there")
    terminal.sees("🔧", "nowhere", "failed")


def a_change_is_reviewed_and_allowed():
    file("yes.txt", "old line\nkept\n")
    terminal.prompt('call edit_file {"path":"yes.txt","old_string":"old","new_string":"new"} then say changed-it')
    terminal.sees("Approval request")
    terminal.until("the change", lambda: terminal.lines("old line") and terminal.lines("new line"))
    # Every choice has a key of its own.
    choices = terminal.lines("Allow") + terminal.lines("Always")
    assert not [line for line in choices if re.search(r"▊\s{5,}(Allow|Always)", line)], choices
    terminal.press("a")
    terminal.sees("▌changed-it")
    terminal.sees("🔧", "yes.txt", "✔")
    assert (work / "yes.txt").read_text() == "new line\nkept\n"


def a_change_is_denied():
    file("no.txt", "old line\n")
    terminal.prompt('call edit_file {"path":"no.txt","old_string":"old","new_string":"new"} then say left-it')
    terminal.sees("Approval request")
    terminal.press("r")
    terminal.sees("▌left-it")
    terminal.sees("🔧", "no.txt", "failed")
    assert (work / "no.txt").read_text() == "old line\n"


def a_command_is_allowed_and_runs_in_a_terminal():
    terminal.prompt('call bash {"command":"echo from-$((40+2))-bash"} then say ran-it')
    terminal.sees("Allow once")
    terminal.press("a")
    terminal.sees("▌ran-it")
    terminal.sees("from-42-bash")


def the_plan_is_beside_the_conversation():
    terminal.prompt('call todo {"todos":[{"content":"dig a hole","status":"in_progress"},{"content":"fill it","status":"pending"}]} then say planned-it')
    terminal.sees("▌planned-it")
    terminal.sees("dig a hole")
    terminal.sees("fill it")


def a_running_turn_is_cancelled():
    terminal.prompt("say waiting-here hold")
    terminal.sees("▌waiting-here")
    # It wants to be told twice, the second time soon.
    while not terminal.lines("Turn cancelled"):
        terminal.press("\x1b")
        terminal.until("a reaction", lambda: terminal.lines("again to cancel") or terminal.lines("Turn cancelled"))
        terminal.press("\x1b")
        terminal.until("the end of it", lambda: terminal.lines("Turn cancelled") or not terminal.lines("again to cancel"))
    terminal.prompt("say going-on")
    terminal.sees("▌going-on")


def an_error_of_the_model_is_shown_with_its_words():
    terminal.prompt("fail 400")
    terminal.sees("HTTP 400")


CHECKS = [it for name, it in list(globals().items()) if name.startswith(("it_", "calls_", "a_", "an_", "the_"))]


def main():
    failed = 0
    for check in CHECKS:
        if len(sys.argv) > 1 and not any(part in check.__name__ for part in sys.argv[1:]):
            continue
        try:
            check()
            print(f"ok {check.__name__}", flush=True)
        except Exception as why:  # noqa: BLE001
            failed += 1
            print(f"FAIL {check.__name__}: {type(why).__name__} {why}", *filter(None, terminal.rows()), sep="\n", flush=True)
            break
    terminal.end()
    shutil.rmtree(home, ignore_errors=True)
    return failed


sys.exit(1 if main() else 0)
