"""Find Chromium for the tests of the console. For root it is installed by apt, with fonts for Chinese and emoji.

Preferred is its headless shell: the same engine, in half the processor time, because it has no windows to draw.
"""

import os
import shutil
import subprocess
import sys

SHELL = "chromium-headless-shell"
NAMES = (SHELL, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FONTS = ("fonts-noto-cjk", "fonts-noto-color-emoji")


def find_browser() -> str | None:
    """The path of the browser: that of CLEARWELL_TEST_BROWSER, or the first that is installed."""
    named = os.environ.get("CLEARWELL_TEST_BROWSER")
    return shutil.which(named) if named else next(filter(None, map(shutil.which, NAMES)), None)


def main() -> None:
    if find_browser():
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        sys.exit(f"The tests of the console need Chromium. Run: sudo {installation('chromium')}")
    run("apt-get update --quiet --quiet")
    package = SHELL if is_offered(SHELL) else "chromium"
    sys.stderr.write(f"Installing {', '.join((package, *FONTS))} …\n")
    run(installation(package))
    if not find_browser():
        sys.exit("Chromium was installed but is not in PATH. Set CLEARWELL_TEST_BROWSER to its path.")


def installation(package: str) -> str:
    return f"apt-get install --yes --no-install-recommends {' '.join((package, *FONTS))}"


def is_offered(package: str) -> bool:
    """Whether apt can install it. Debian has the headless shell, and not every distribution of its family."""
    found = subprocess.run(["apt-cache", "show", package], check=False, capture_output=True)
    return found.returncode == 0


def run(command: str) -> None:
    done = subprocess.run(command.split(), check=False, stdout=subprocess.DEVNULL)
    if done.returncode:
        sys.exit(f"Chromium could not be installed. Run: {command}")


if __name__ == "__main__":
    main()
