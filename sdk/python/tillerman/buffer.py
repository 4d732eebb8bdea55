"""What came and was not read yet, for one reader."""
from __future__ import annotations

import asyncio
from collections import deque
from typing import Callable, Deque, Generic, Optional, Tuple, TypeVar

T = TypeVar("T")


class EventBuffer(Generic[T]):
    """`on_empty` is called when the reader has taken everything."""

    def __init__(self, on_empty: Callable[[], None] = lambda: None) -> None:
        self._items: Deque[Tuple[T, int]] = deque()
        self._more = asyncio.Event()
        self._error: Optional[BaseException] = None
        self._on_empty = on_empty
        self.is_over = False
        self.size = 0

    def __len__(self) -> int:
        return len(self._items)

    @property
    def newest(self) -> Optional[T]:
        """The newest that was not read yet, to be added to."""
        return self._items[-1][0] if self._items else None

    def push(self, item: T, size: int) -> None:
        if not self.is_over:
            self._items.append((item, size))
            self.size += size
            self._more.set()

    def end(self, error: Optional[BaseException] = None) -> None:
        """Nothing more comes; what waits is still read."""
        if not self.is_over:
            self.is_over, self._error = True, error
            self._more.set()

    async def next(self) -> T:
        while not self._items:
            if self.is_over:
                # Told once; after it there is nothing.
                error, self._error = self._error, None
                if error is not None:
                    raise error
                raise StopAsyncIteration
            self._more.clear()
            await self._more.wait()
        item, size = self._items.popleft()
        self.size -= size
        if not self._items:
            self.size = 0
            self._on_empty()
        return item
