import errno
import struct
from types import MappingProxyType

import pytest

from holdfast.host.sandbox.seccomp import ARCHITECTURES, filter_program

ALLOW, KILL = 0x7FFF0000, 0x80000000
EPERM, ENOSYS = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
OTHER = MappingProxyType({"x86_64": 0x40000003, "aarch64": 0xC000003E})
HARMLESS = MappingProxyType({"x86_64": (0, 1, 257, 59, 231, 2), "aarch64": (63, 64, 56, 221, 94)})
machines = pytest.mark.parametrize("machine", sorted(ARCHITECTURES))


def judge(program: bytes, audit: int, number: int, *args: int) -> int:
    """What the kernel would answer: the few instructions that are used, carried out."""
    words = [*args, *([0] * (6 - len(args)))]
    data = struct.pack("<IIQ6Q", number, audit, 0, *words)
    lines = list(struct.iter_unpack("<HBBI", program))
    at = value = 0
    while True:
        code, then, otherwise, k = lines[at]
        at += 1
        if code == 0x20:
            (value,) = struct.unpack_from("<I", data, k)
        elif code == 0x54:
            value &= k
        elif code == 0x06:
            return k
        else:
            holds = {0x15: value == k, 0x35: value >= k, 0x45: bool(value & k)}[code]
            at += then if holds else otherwise


@machines
def test_what_a_confined_program_has_no_use_for_is_refused(machine: str) -> None:
    arch, program = ARCHITECTURES[machine], filter_program(machine)
    assert {judge(program, arch.audit, number) for number in arch.refused.values()} == {EPERM}
    assert {judge(program, arch.audit, number) for number in HARMLESS[machine]} == {ALLOW}


@machines
def test_sockets_are_made_for_the_internet_only_unless_others_are_allowed(machine: str) -> None:
    arch = ARCHITECTURES[machine]
    answers = {domain: judge(filter_program(machine), arch.audit, arch.socket, domain) for domain in range(64)}
    assert {domain for domain, answer in answers.items() if answer == ALLOW} == {2, 10}
    assert judge(filter_program(machine), arch.audit, arch.socket, (1 << 32) | 1) == EPERM
    assert judge(filter_program(machine, unix=True), arch.audit, arch.socket, 1) == ALLOW
    assert judge(filter_program(machine, internet=False), arch.audit, arch.socket, 2) == EPERM


@machines
def test_pairs_of_sockets_are_only_such_that_reach_nobody_else(machine: str) -> None:
    arch = ARCHITECTURES[machine]

    def made(domain: int, kind: int, *, unix: bool = False) -> bool:
        return judge(filter_program(machine, unix=unix), arch.audit, arch.socketpair, domain, kind) == ALLOW

    flags = (0, 0o2000000, 0o4000, (3 << 32))
    assert {kind for kind in range(16) for more in flags if made(1, kind | more)} == {1, 5}
    assert not any(made(domain, 1) for domain in range(64) if domain != 1)
    assert made(1, 2, unix=True)


@machines
def test_no_file_is_made_that_runs_as_its_owner(machine: str) -> None:
    arch, program = ARCHITECTURES[machine], filter_program(machine)
    for number, at in arch.modes.values():
        for mode in (0o4755, 0o104755, 0o6711):
            assert judge(program, arch.audit, number, *[0] * ((at - 16) // 8), mode) == EPERM
        assert judge(program, arch.audit, number, *[0] * ((at - 16) // 8), 0o2775) == ALLOW
    for number, flags_at, _ in arch.opens.values():
        before = [0] * ((flags_at - 16) // 8)
        for flags in (0o101, 0o20200002):
            assert judge(program, arch.audit, number, *before, flags, 0o4755) == EPERM
            assert judge(program, arch.audit, number, *before, flags, 0o755) == ALLOW
        assert judge(program, arch.audit, number, *before, 0, 0o4755) == ALLOW, "without a flag that makes one"
    assert judge(program, arch.audit, 437) == ENOSYS


@machines
def test_terminals_take_no_typed_keys_and_no_namespace_is_made(machine: str) -> None:
    arch, program = ARCHITECTURES[machine], filter_program(machine)
    for request in (0x5412, 0x541C, 0x5423, 0x540C, 0x541D, (7 << 32) | 0x5412):
        assert judge(program, arch.audit, arch.ioctl, 1, request) == EPERM
    assert judge(program, arch.audit, arch.ioctl, 1, 0x5401) == ALLOW
    assert judge(program, arch.audit, arch.clone, 0x10000000 | 17) == EPERM
    assert judge(program, arch.audit, arch.clone, 0x01200011) == ALLOW
    assert judge(program, arch.audit, 435) == ENOSYS, "it could also put a process into another group"


@machines
def test_calls_of_another_architecture_end_the_process(machine: str) -> None:
    program = filter_program(machine)
    assert judge(program, OTHER[machine], 1) == KILL
    if machine == "x86_64":
        assert judge(program, ARCHITECTURES[machine].audit, 0x40000000 | 41, 1) == KILL


@machines
def test_the_numbers_are_those_of_the_seccomp_library(machine: str) -> None:
    seccomp = pytest.importorskip("pyseccomp")
    arch = ARCHITECTURES[machine]
    token = {"x86_64": seccomp.Arch.X86_64, "aarch64": seccomp.Arch.AARCH64}[machine]
    known = {**arch.refused, "socket": arch.socket, "ioctl": arch.ioctl, "clone": arch.clone, "clone3": 435}
    known |= {"socketpair": arch.socketpair, "openat2": 437, **{name: one[0] for name, one in arch.modes.items()}}
    known |= {name: one[0] for name, one in arch.opens.items()}
    if seccomp.resolve_syscall(token, "fchmodat2") < 0:
        del known["fchmodat2"]  # a library that is older than the call
    assert {name: seccomp.resolve_syscall(token, name) for name in known} == known


def test_the_bytes_say_what_those_of_the_seccomp_library_say(tmp_path: object) -> None:
    seccomp = pytest.importorskip("pyseccomp")
    arch = ARCHITECTURES["x86_64"]
    theirs = seccomp.SyscallFilter(seccomp.ALLOW)
    theirs.set_attr(seccomp.Attr.ACT_BADARCH, seccomp.KILL_PROCESS)
    refuse = seccomp.ERRNO(errno.EPERM)
    for name in arch.refused:
        theirs.add_rule(refuse, name)
    low = 0xFFFFFFFF
    for request in (0x5412, 0x541C, 0x5423, 0x540C, 0x541D):
        theirs.add_rule(refuse, "ioctl", seccomp.Arg(1, seccomp.MASKED_EQ, low, request))
    for name, (_, at) in arch.modes.items():
        if seccomp.resolve_syscall(seccomp.Arch.X86_64, name) >= 0:
            theirs.add_rule(refuse, name, seccomp.Arg((at - 16) // 8, seccomp.MASKED_EQ, 0o4000, 0o4000))
    for name in ("openat2", "clone3"):
        theirs.add_rule(seccomp.ERRNO(errno.ENOSYS), name)
    path = f"{tmp_path}/theirs"
    with open(path, "wb") as file:
        theirs.export_bpf(file)
    with open(path, "rb") as file:
        other = file.read()
    ours = filter_program("x86_64")
    for number in range(460):
        if number not in (arch.socket, arch.socketpair, arch.clone, 452, *(one[0] for one in arch.opens.values())):
            for request in (0, 0x5401, 0x5412, 0x541C, 0x5423, 0x540C, 0o4755, 0o755):
                told = judge_theirs(other, arch.audit, number, 0, request, request)
                assert judge(ours, arch.audit, number, 0, request, request) == told, number


def judge_theirs(program: bytes, audit: int, number: int, *args: int) -> int:
    """The same for what the library makes, which also masks and jumps far."""
    data = struct.pack("<IIQ6Q", number, audit, 0, *args, *([0] * (6 - len(args))))
    lines = list(struct.iter_unpack("<HBBI", program))
    at = value = 0
    while True:
        code, then, otherwise, k = lines[at]
        at += 1
        if code == 0x20:
            (value,) = struct.unpack_from("<I", data, k)
        elif code == 0x54:
            value &= k
        elif code == 0x05:
            at += k
        elif code == 0x06:
            return k
        else:
            holds = {0x15: value == k, 0x35: value >= k, 0x25: value > k, 0x45: bool(value & k)}[code]
            at += then if holds else otherwise
