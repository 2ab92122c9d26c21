# SPDX-License-Identifier: GPL-2.0-or-later
"""Which functions a callback can reach in the finished machine code, and which functions outside of the
program these call."""

import pathlib
import re
import subprocess
from collections.abc import Iterable, Iterator

# Functions that the compiler itself inserts: to copy or fill memory of a known size, and for a corrupted
# stack.
COMPILERS = {"memcpy", "memmove", "memset", "bzero", "__stack_chk_fail"}


class Reach:
    def __init__(self) -> None:
        self.functions: set[str] = set()
        self.external: set[str] = set()
        self.wrong: list[str] = []


def allow_list(shim: str) -> set[str]:
    """The names that CJACK's shim marks as RT_SAFE."""
    text = re.sub(r"//[^\n]*|^#[^\n]*", "", pathlib.Path(shim).read_text(), flags=re.MULTILINE)
    return {re.findall(r"(\w+)\s*\(", declaration)[0] for declaration in re.findall(r"[^;{}]*?RT_SAFE;", text)}


class Program:
    """A program's machine code. The ends of functions with a symbol are known; other functions are followed
    by their jumps."""

    def __init__(self, path: str) -> None:
        self.code: dict[int, str] = {}
        for line in self.output("objdump", "-d", "--no-show-raw-insn", "-M", "att", path):
            instruction = re.match(r"\s+([0-9a-f]+):\t(.*\S)", line)
            if instruction:
                self.code[int(instruction.group(1), 16)] = instruction.group(2)
        self.order = sorted(self.code)
        self.place = {address: index for index, address in enumerate(self.order)}
        self.symbols: dict[str, int] = {}
        self.sizes: dict[int, int] = {}
        for line in self.output("nm", "-S", "--defined-only", path):
            symbol = re.match(r"([0-9a-f]+) ([0-9a-f]+) [tTwW] (\S+)", line)
            if symbol:
                address = int(symbol.group(1), 16)
                self.symbols.setdefault(symbol.group(3), address)
                self.sizes[address] = int(symbol.group(2), 16)
        self.names = {address: name for name, address in self.symbols.items()}

    @staticmethod
    def output(*command: str) -> list[str]:
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()

    def entries(self, name: str) -> list[int]:
        """The C entry of a Swift function (its symbol ends in To), or a symbol with exactly this name."""
        thunks = [a for s, a in self.symbols.items() if f"{len(name)}{name}" in s and s.endswith("To")]
        return thunks or [a for s, a in self.symbols.items() if s == name]

    def name(self, address: int) -> str:
        return self.names.get(address, f"the function at {address:x}")

    def body(self, start: int) -> Iterator[int]:
        """The addresses of a function's instructions."""
        if start in self.sizes:
            index = self.place[start]
            while index < len(self.order) and self.order[index] < start + self.sizes[start]:
                yield self.order[index]
                index += 1
            return
        waiting, seen = [start], set[int]()
        while waiting:
            address = waiting.pop()
            while address in self.code and address not in seen:
                seen.add(address)
                yield address
                text = self.code[address]
                target = jump_target(text)
                if target is not None and target in self.code:
                    waiting.append(target)
                if re.match(r"(ret|ud2|jmp|hlt)", text):
                    break
                following = self.place[address] + 1
                address = self.order[following] if following < len(self.order) else -1


def jump_target(text: str) -> int | None:
    found = re.match(r"(?:bnd |notrack )?j\w+ +([0-9a-f]+) <", text)
    return int(found.group(1), 16) if found and "@plt" not in text else None


def is_jump_table(jump: str, before: list[str]) -> bool:
    """Whether a jump belongs to a `switch`. The compiler loads an offset from a table into a register, adds
    the table's address, and jumps there; other instructions may stand between."""
    register = re.search(r"\*%r(\w+)$", jump)
    if not register:
        return False
    parts = names_of(register.group(1))
    writes = [text for text in before[-20:] if re.match(r"call|(pop|inc|dec|neg|not)\w* +%", text) or text.split(",")[-1] in parts]
    return len(writes) > 1 and writes[-1].startswith("add ") and writes[-2].startswith("movslq (")


def names_of(register: str) -> set[str]:
    """The names of a register and of its parts, for `cx`, `si` or `8`."""
    if register[0].isdigit():
        return {f"%r{register}{part}" for part in ("", "d", "w", "b")}
    low = {register[0] + "l", register[0] + "h"} if register.endswith("x") else {register + "l"}
    return {f"%{name}" for name in {f"r{register}", f"e{register}", register} | low}


def walk(path: str, names: Iterable[str], allowed: set[str]) -> Reach:
    program, result = Program(path), Reach()
    waiting: list[int] = []
    for name in names:
        found = program.entries(name)
        if not found:
            result.wrong.append(f"{name} is not in {path}")
        waiting += found
    while waiting:
        start = waiting.pop()
        if program.name(start) not in result.functions:
            result.functions.add(program.name(start))
            waiting += look_at(start, program, allowed, result)
    result.wrong = sorted(set(result.wrong))
    return result


def look_at(start: int, program: Program, allowed: set[str], result: Reach) -> list[int]:
    """Judges one function. Returns the program's functions that it calls or jumps to."""
    name, body = program.name(start), list(program.body(start))
    inside, before, leads = set(body), list[str](), []
    for address in body:
        text = program.code[address]
        if re.match(r"(syscall|sysenter|int )", text):
            result.wrong.append(f"{name} makes a system call")
        branch = re.match(r"(?:bnd |notrack )?(call|j)\w* +(.*)", text)
        if branch:
            direct = re.match(r"([0-9a-f]+) <([^>]+)>", branch.group(2))
            through = re.search(r"# [0-9a-f]+ <([^>@+]+)@", text)
            if direct and "@plt" in direct.group(2):
                call_out(name, direct.group(2).split("@")[0], allowed, result)
            elif direct:
                target = int(direct.group(1), 16)
                if target not in inside:
                    leads.append(target)
            elif through:
                call_out(name, through.group(1), allowed, result)
            elif not (branch.group(1) == "j" and is_jump_table(text, before)):
                result.wrong.append(f"{name} calls what can't be known: {text}")
        before.append(text)
    return leads


def call_out(name: str, called: str, allowed: set[str], result: Reach) -> None:
    result.external.add(called)
    if called not in allowed and called not in COMPILERS:
        result.wrong.append(f"{name} calls {called}, which is not on the allow-list")
