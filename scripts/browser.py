"""Find Chromium for the tests of the console. For root it is installed by apt, with fonts for Chinese and emoji."""

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PACKAGES = ("chromium", "fonts-noto-cjk", "fonts-noto-color-emoji")


def find_browser() -> str | None:
    """The path of the browser: that of CLEARWELL_TEST_BROWSER, or the first that is installed."""
    named = os.environ.get("CLEARWELL_TEST_BROWSER")
    return shutil.which(named) if named else next(filter(None, map(shutil.which, NAMES)), None)


def main() -> None:
    if find_browser():
        return
    install = f"apt-get install --yes --no-install-recommends {' '.join(PACKAGES)}"
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        sys.exit(f"The tests of the console need Chromium. Run: sudo {install}")
    sys.stderr.write(f"Installing {', '.join(PACKAGES)} …\n")
    for command in ("apt-get update --quiet --quiet", install):
        done = subprocess.run(command.split(), check=False, stdout=subprocess.DEVNULL)
        if done.returncode:
            sys.exit(f"Chromium could not be installed. Run: {command}")
    if not find_browser():
        sys.exit("Chromium was installed but is not in PATH. Set CLEARWELL_TEST_BROWSER to its path.")


if __name__ == "__main__":
    main()
