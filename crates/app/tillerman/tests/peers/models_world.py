"""What the checks of the vendors' SDKs share: one line per check, `ok NAME` or `FAIL NAME: why`; the scripts of all of them.

    PEER_SERVER  the model server under test, without a path; not for the checks of requests
"""

import os
import sys
import traceback

SERVER = os.environ.get("PEER_SERVER", "")
# One black pixel.
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
# Three rounds of calls, each with its thought, the second with two calls; then the answer.
LOOP = (
    'think "first" and call add {"x":1} then think "second" and call add {"x":2} and call add {"x":3} '
    'then think "third" and call add {"x":4} then say "all done"'
)
LOOP_CALLS = [[1], [2, 3], [4], []]

failed = False


def check(name):
    """Runs a function at once, as a check under this name."""

    def run(body):
        global failed
        try:
            body()
            print(f"ok {name}", flush=True)
        except Exception:
            failed = True
            print(f"FAIL {name}: {traceback.format_exc()}", flush=True)

    return run


def same(got, want):
    assert got == want, f"got {got!r}, wanted {want!r}"


def raises(kind, body):
    try:
        body()
    except Exception as error:
        assert type(error) is kind, f"{type(error)} instead of {kind}: {error}"
        return error
    raise AssertionError(f"no {kind}")


def end():
    sys.exit(1 if failed else 0)
