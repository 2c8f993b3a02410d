"""The first code of a child process: reset signals, change the user, then replace itself by the server.

``launch`` runs this file by its path in a bare interpreter. A program that was started with SIGINT ignored (``nohup``,
``&`` in a script) passes that on to its children, and only the child can reset it. Doing so between fork and exec
(``preexec_fn``) can deadlock a program with threads.
"""

import os
import signal
import sys


def reset_signals() -> None:
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def change_user(uid: int, gid: int) -> None:
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)


def main(user: str, *command: str) -> None:
    reset_signals()
    if user != "-":
        uid, gid = user.split(":")
        change_user(int(uid), int(gid))
    os.execvp(command[0], command)  # noqa: S606 - replaces this process by the server


if __name__ == "__main__":
    main(*sys.argv[1:])
