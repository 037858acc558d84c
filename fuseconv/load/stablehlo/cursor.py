"""Read numbers and bytes of MLIR bytecode, each held to the section that it stands in."""

from __future__ import annotations

# The number 1, in the one byte that it takes.
_ONE = 3
# Of numbers that take a byte each: the bytes, and what they are.
_SHORT = bytes(range(1, 256, 2))
_HALVES = bytes(byte >> 1 for byte in range(256))


class DamagedError(ValueError):
    """The bytes are no MLIR bytecode. The message is the end of a sentence."""


class Cursor:
    """A place in a part of the bytes. `at` is where the next is read, `end` the end of the part."""

    __slots__ = ("at", "data", "end")

    def __init__(self, data: bytes, at: int, end: int) -> None:
        self.data, self.at, self.end = data, at, end

    @property
    def left(self) -> int:
        """Return how many bytes follow."""
        return self.end - self.at

    def byte(self) -> int:
        if self.at >= self.end:
            raise DamagedError(f"a section ends at byte {self.end}, in the middle of something")
        value = self.data[self.at]
        self.at += 1
        return value

    def take(self, size: int) -> bytes:
        """Return so many bytes."""
        if not 0 <= size <= self.end - self.at:
            raise DamagedError(f"{size} bytes are to be read of a section that has {self.left} left")
        self.at += size
        return self.data[self.at - size : self.at]

    def part(self, size: int) -> Cursor:
        """Return a cursor over the next so many bytes, which this one skips."""
        if not 0 <= size <= self.end - self.at:
            raise DamagedError(f"a part of {size} bytes stands in a section that has {self.left} left")
        self.at += size
        return Cursor(self.data, self.at - size, self.at)

    def varint(self) -> int:
        """Return a number: the zero bits at the low end of its first byte say how many bytes follow."""
        at = self.at
        if at >= self.end:
            raise DamagedError(f"a section ends at byte {self.end}, where a number is to be read")
        first = self.data[at]
        if first & 1:
            self.at = at + 1
            return first >> 1
        if first & 2 and at + 1 < self.end:
            self.at = at + 2
            return (first | self.data[at + 1] << 8) >> 2
        if not first:
            self.at = at + 1
            return int.from_bytes(self.take(8), "little")
        zeros = (first & -first).bit_length() - 1
        return int.from_bytes(self.take(zeros + 1), "little") >> (zeros + 1)

    def head(self) -> tuple[int, int, int]:
        """Return a number, a byte and a number, with which each op begins: as `varint` does, in fewer steps."""
        data, at = self.data, self.at
        if at + 3 < self.end:
            index, mask, last = data[at], data[at + 1], data[at + 2]
            if index & 1:
                if last & 1:
                    self.at = at + 3
                    return index >> 1, mask, last >> 1
                if last & 2:
                    self.at = at + 4
                    return index >> 1, mask, (last | data[at + 3] << 8) >> 2
        return self.varint(), self.byte(), self.varint()

    def flagged(self) -> tuple[int, bool]:
        """Return a number and the flag in its lowest bit."""
        value = self.varint()
        return value >> 1, bool(value & 1)

    def signed(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def count(self) -> int:
        """Return how many items follow, each of which takes a byte or more."""
        value = self.varint()
        if value > self.end - self.at:
            raise DamagedError(f"a list of {value} items stands in a section that has {self.left} bytes left")
        return value

    def varints(self) -> list[int]:
        """Return a list of numbers, with its length before it."""
        data, at = self.data, self.at
        if at + 1 < self.end and data[at] == _ONE and data[at + 1] & 1:  # as the types of most ops' results are
            self.at = at + 2
            return [data[at + 1] >> 1]
        return self.numbers(self.count())

    def numbers(self, count: int) -> list[int]:
        """Return so many numbers, most of which take a byte or two: as `varint` does, in fewer steps."""
        data, at = self.data, self.at
        if at + count <= self.end:
            short = data[at : at + count]
            if not short.translate(None, _SHORT):
                self.at = at + count
                return [*short.translate(_HALVES)]
        found: list[int] = []
        try:
            for _ in range(count):
                first = data[at]
                if first & 1:
                    found.append(first >> 1)
                    at += 1
                elif first & 2:
                    found.append((first | data[at + 1] << 8) >> 2)
                    at += 2
                else:
                    self.at = at
                    found.append(self.varint())
                    at = self.at
        except IndexError:
            at = self.end + 1
        if at > self.end:
            raise DamagedError(f"a section ends at byte {self.end}, where a number is to be read")
        self.at = at
        return found

    def text(self) -> str:
        """Return a text that a zero byte ends."""
        stop = self.data.find(b"\0", self.at, self.end)
        if stop < 0:
            raise DamagedError("a text has no end")
        found = self.data[self.at : stop]
        self.at = stop + 1
        return decoded(found)

    def done(self, what: str) -> None:
        """Refuse bytes that are left over."""
        if self.left:
            raise DamagedError(f"{self.left} bytes are left at the end of {what}")


def decoded(data: bytes) -> str:
    """Return a text of UTF-8. Raises DamagedError if it is none."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise DamagedError("a text is no UTF-8") from error
