"""The web console: pages for reviewers and operators, rendered by the server.

Every page is a module with a router and a template of the same name in ``templates/``. It calls the memory manager or
the review service of the person who is signed in and shows the views of the answer; it decides nothing itself.
``request`` knows who is signed in and checks changes, ``templates`` renders, ``markdown`` makes text of agents safe to
show, ``navigation`` lists the pages, and ``assets`` serves what is in ``static/``.
"""

from clearwell.adapters.http.console import (
    agents,
    assets,
    audit,
    chat,
    demo,
    forget,
    memories,
    overview,
    playground,
    preferences,
    quarantine,
    review,
    sign_in,
    start,
    working,
)

PAGES = (overview, review, quarantine, working, memories, playground, chat, agents, audit, forget)
ROUTERS = (*(part.router for part in (assets, start, sign_in, preferences, demo)), *(page.router for page in PAGES))

__all__ = ["ROUTERS"]
