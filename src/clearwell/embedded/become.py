"""Run by path in a bare interpreter: put signals and user in order, then become the given program.

A program that was started with SIGINT ignored (``nohup``, ``&`` in a script) hands that on to its children.
Only the child itself can undo it, and Python code between fork and exec can lock up a program with threads.
"""

import os
import signal
import sys


def default_signals() -> None:
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def change_user(uid: int, gid: int) -> None:
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)


def main(user: str, *command: str) -> None:
    default_signals()
    if user != "-":
        uid, gid = user.split(":")
        change_user(int(uid), int(gid))
    os.execvp(command[0], command)  # noqa: S606 - the point of this file


if __name__ == "__main__":
    main(*sys.argv[1:])
