"""The path that an agent's output takes, one package for each stage.

    capture ─▶ ingress ─▶ working ──────────────────────────────┐
       │                                                        ▼
       └─▶ digest ─▶ review ─▶ promotion ─▶ (long-term) ─▶ retrieval ─▶ context

``capture`` stores an output in quarantine. ``ingress`` runs the checks and admits what passes. ``working`` maintains
working memory. ``digest`` groups what quarantine holds into insights, ``review`` records what people decide about
them, and ``promotion`` turns a decision into long-term memory. ``retrieval`` searches working and long-term memory
together, ``context`` puts the result in front of an agent, and ``factcheck`` holds a claim against it.

``tombstones`` keeps out what was rejected or forgotten. ``erasure`` removes a text from all of it, for good.
``archive`` writes a group to a file and reads it again.

Shared by all stages: ``access`` (permissions and keys), ``audit`` (the record of changes), ``events`` (what happens,
for readers that follow it), ``idempotency`` (repeated requests), ``groups`` (prompts and personas), ``limits`` (what
input is accepted), ``counters`` (metrics), ``reembedding`` (the migration to another embedding model), ``deadlines``
(waiting within a time limit, and ending tasks), ``node_events`` (the events of a workflow node).

No module here imports a driver or a framework: stores and models are reached through ``clearwell.ports``.
"""
