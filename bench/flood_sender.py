"""One agent that sends as much as it can: captures and queries, from several connections, until it is ended."""

import http.client
import json
import sys
import threading
from itertools import count

CONNECTIONS = 8
SUBJECTS = ("gateway", "backup", "ledger", "cluster", "release", "invoice", "sensor", "archive", "tunnel", "harvest")


def send(port: int, secret: str, group: str, start: int) -> None:
    """Send every third request as a query and the others as captures; a refusal for now is no reason to wait."""
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    for number in count(start, CONNECTIONS):
        subject = SUBJECTS[number % len(SUBJECTS)]
        content = f"The {subject} number {number} was moved to hall {number * 7} by the team of week {number % 97}."
        path, body = ("/api/v1/captures", {"group_id": group, "content": content, "agent_id": "flooder"})
        if number % 3 == 0:
            path, body = ("/api/v1/memory/query", {"group_id": group, "query": content})
        client.request("POST", path, json.dumps(body), headers)
        client.getresponse().read()


if __name__ == "__main__":
    named = (int(sys.argv[1]), sys.argv[2], sys.argv[3])
    for first in range(CONNECTIONS):
        threading.Thread(target=send, args=(*named, int(sys.argv[4]) + first), daemon=True).start()
    threading.Event().wait()
