"""Whether amounts can be distributed over units of limited room."""

from __future__ import annotations

from collections.abc import Sequence


class Flow:
    """A flow from needs to units, by augmenting paths."""

    def __init__(self, edges: list[list[tuple[int, int]]], caps: list[int]) -> None:
        """Take ``edges``, for each need (unit, the most that it can send there), and ``caps``, room by unit."""
        self._edges = edges
        self._left = list(caps)
        self._sent: list[dict[int, int]] = [{} for _ in edges]
        self._users: list[set[int]] = [set() for _ in caps]

    def carries(self, amounts: Sequence[int]) -> bool:
        """Tell whether every need can send its amount; to be asked once, as it uses up the room."""
        missing = [amount - self._send_directly(need, amount) for need, amount in enumerate(amounts)]
        return all(self._augment(need) for need, count in enumerate(missing) for _ in range(count))

    def _send_directly(self, need: int, amount: int) -> int:
        sent = 0
        for unit, limit in self._edges[need]:
            step = min(limit, self._left[unit], amount - sent)
            if step > 0:
                self._move(need, unit, step)
                self._left[unit] -= step
                sent += step
        return sent

    def _move(self, need: int, unit: int, step: int) -> None:
        now = self._sent[need].get(unit, 0) + step
        self._sent[need][unit] = now
        if now:
            self._users[unit].add(need)
        else:
            self._users[unit].discard(need)

    def _augment(self, need: int) -> bool:
        """Send one more from this need, by way of others that give up a place for another one; False if impossible."""
        came: dict[int, tuple[int, int] | None] = {need: None}  # need -> the need before it, and the unit between
        queue = [need]
        seen: set[int] = set()
        for current in queue:
            for unit, limit in self._edges[current]:
                if unit in seen or self._sent[current].get(unit, 0) >= limit:
                    continue
                seen.add(unit)
                if self._left[unit] > 0:
                    self._left[unit] -= 1
                    self._shift(current, unit, came)
                    return True
                for user in self._users[unit]:
                    if user not in came:
                        came[user] = (current, unit)
                        queue.append(user)
        return False

    def _shift(self, need: int, unit: int, came: dict[int, tuple[int, int] | None]) -> None:
        while True:
            self._move(need, unit, 1)
            step = came[need]
            if step is None:
                return
            before, freed = step
            self._move(need, freed, -1)
            need, unit = before, freed
