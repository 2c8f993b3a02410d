"""An assistant that remembers, with the API of mem0: only the import differs. Run it twice."""

from clearwell.adapters.mem0 import Memory  # was: from mem0 import Memory

ALICE = {"user_id": "alice"}
MESSAGES = [
    {"role": "user", "content": "I am vegetarian, and I have been allergic to nuts and to sesame since my childhood."},
    {"role": "assistant", "content": "I booked a table for two at the vegetarian restaurant on Harbour Street."},
    {"role": "user", "content": "Thanks!"},
]

with Memory() as memory:
    for result in memory.add(MESSAGES, user_id="alice", agent_id="concierge", run_id="monday")["results"]:
        print(result["event"], result["tier"], "-", result["memory"])
        if "reason" in result:
            print("    because:", result["reason"])
    for found in memory.search("What is Alice allergic to?", filters=ALICE, top_k=1)["results"]:
        print("found:", found["memory"], "| verified:", found["verified"])
