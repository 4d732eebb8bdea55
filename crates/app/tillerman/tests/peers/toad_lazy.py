"""Starts Toad on a Python that is older than the one it wishes for.

It needs two things of the newer one. Annotations are not looked up before somebody asks for them: older ones can do that, too,
in a module that says so, and here every module does that cannot be loaded otherwise; where they are asked for, they are looked
up. And a pool of interpreters looks for files: a pool of threads finds the same.
"""

import __future__

import concurrent.futures
import functools
import importlib.machinery
import inspect
import sys


class Loader(importlib.machinery.SourceFileLoader):
    def exec_module(self, module):
        known = dict(module.__dict__)
        try:
            super().exec_module(module)
        except NameError:
            module.__dict__.clear()
            module.__dict__.update(known)
            path, flag = self.get_filename(module.__name__), __future__.annotations.compiler_flag
            exec(compile(self.get_data(path), path, "exec", flags=flag, dont_inherit=True), module.__dict__)


class Finder(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        spec = super().find_spec(fullname, path, target) if fullname.partition(".")[0] == "toad" else None
        if spec and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = Loader(spec.loader.name, spec.loader.path)
        return spec


if sys.version_info < (3, 14):
    sys.meta_path.insert(0, Finder)
    concurrent.futures.InterpreterPoolExecutor = concurrent.futures.ThreadPoolExecutor
    from toad import jsonrpc

    jsonrpc.signature = functools.partial(inspect.signature, eval_str=True)

from toad.cli import main  # noqa: E402

sys.exit(main())
