"""The fixed sets of words: states, outcomes, labels and the like, each spelt in one place.

Records, views and adapters share them. They are a module of their own because a client needs them without records.
"""

from enum import StrEnum
from typing import Final


class Layer(StrEnum):
    """The tier of an entry."""

    QUARANTINE = "quarantine"
    WORKING = "working"
    LONGTERM = "longterm"


class Admission(StrEnum):
    """The state of the admission of a captured row to working memory."""

    PENDING = "pending"
    ADMITTED = "admitted"
    REFUSED = "refused"


class Outcome(StrEnum):
    """The outcome of one ingress check."""

    PASS = "pass"
    FAIL = "fail"
    FLAG = "flag"
    PENDING = "pending"
    NOT_CHECKED = "not_checked"


class IngressCheck(StrEnum):
    """What a verdict is about: a check of the ingress pipeline, or one of three conditions around it.

    ``group``: the output has none. ``node_type``: outputs of this type never enter working memory. ``admission``: the
    checks could not be run, or a person admitted the output.
    """

    CONFIDENCE = "confidence"
    LENGTH = "length"
    INSTRUCTION = "instruction"
    SUBSTANCE = "substance"
    TOMBSTONE = "tombstone"
    ECHO = "echo"
    NON_DUPLICATE = "non_duplicate"
    SELF_CONSISTENCY = "self_consistency"
    GROUP = "group"
    NODE_TYPE = "node_type"
    ADMISSION = "admission"


class Flag(StrEnum):
    """What a reader must be told of a text. The last four are flags of insights, the others of outputs."""

    CONFLICT = "conflict"
    HIDDEN_TEXT = "hidden_text"
    INSTRUCTION_LIKE = "instruction_like"
    CLAIMS_AUTHORITY = "claims_authority"
    NEAR_REJECTED = "near_rejected"
    CITES_MEMORY = "cites_memory"
    SELF_CONSISTENCY_NOT_CHECKED = "self_consistency_not_checked"
    CONTRADICTION = "contradiction"
    CONFLICTS_VERIFIED = "conflicts_verified"
    DUPLICATES_VERIFIED = "duplicates_verified"
    SINGLE_AUTHOR = "single_author"


FLAGS_OF_OUTPUTS: Final = frozenset({Flag.SELF_CONSISTENCY_NOT_CHECKED, Flag.CONFLICT, Flag.CONTRADICTION})
"""Flags of a whole output that say nothing of an insight, which rests on a statement of it. What contradicts the
statement is found by the digest and by the comparison with memory."""


class SegmentKind(StrEnum):
    """What a segment of an output is. Claims and decisions are statements; everything else is not."""

    CLAIM = "claim"
    DECISION = "decision"
    INTENTION = "intention"
    INSTRUCTION = "instruction"
    QUESTION = "question"
    CHATTER = "chatter"
    STRUCTURE = "structure"
    CODE = "code"
    PAGE = "page"
    FRAGMENT = "fragment"


PROPOSED: Final = "proposed"
"""The field of metadata by which an agent proposes its output for review."""
CONCLUDING_NODE_TYPES: Final = ("chair", "verdict")
"""The types of nodes whose outputs conclude a session."""
STATEMENT_KINDS: Final = frozenset({SegmentKind.CLAIM, SegmentKind.DECISION})
RULES: Final = "rules"
"""The segmenter of statements that no language model found."""


class Source(StrEnum):
    """The tier that retrieval found an item in: working memory (hot) or long-term memory (cold)."""

    HOT = "hot"
    COLD = "cold"


class Label(StrEnum):
    """Whether an item is unverified (ephemeral), verified, or was verified at the time that a query asks about.

    What no longer is was superseded by another memory, or withdrawn.
    """

    EPHEMERAL = "ephemeral"
    VERIFIED = "verified"
    SUPERSEDED = "superseded"
    WITHDRAWN = "withdrawn"


class Scope(StrEnum):
    """Whether a memory belongs to the group or to one agent."""

    GROUP = "group"
    AGENT = "agent"


class TombstoneKind(StrEnum):
    """Why a text must not be stored again."""

    REJECTED = "rejected"
    FORGOTTEN = "forgotten"


class Origin(StrEnum):
    """Where a promoted text comes from."""

    TYPED = "typed"
    WORKING = "working"
    QUARANTINE = "quarantine"
    INSIGHT = "insight"


class IdKind(StrEnum):
    """What an id can name inside a group. A working entry has the id of its ``row`` of quarantine."""

    ROW = "row"
    INSIGHT = "insight"
    MEMORY = "memory"
    DECISION = "decision"
    TOMBSTONE = "tombstone"
    DIGEST = "digest"


class Right(StrEnum):
    """The rights that a key can have."""

    CAPTURE = "capture"
    READ = "read"
    REVIEW = "review"
    ADMIN = "admin"


class Operator(StrEnum):
    """The operators that compare a value of the metadata."""

    EQ = "eq"
    NE = "ne"
    IN = "in"
    NIN = "nin"
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    EXISTS = "exists"
    CONTAINS = "contains"


class Section(StrEnum):
    """The five parts of a context, in the protocol's order."""

    GROUP_PROMPT = "group_prompt"
    PERSONA = "persona"
    GROUP_MEMORY = "group_memory"
    AGENT_MEMORY = "agent_memory"
    PROPOSAL = "proposal"


class Fate(StrEnum):
    """What happened to a part because of the budget."""

    INCLUDED = "included"
    CUT = "cut"
    LEFT_OUT = "left_out"
    EMPTY = "empty"


class EventType(StrEnum):
    """What an event says happened: in a node, on the path, or to the stream of events itself.

    The protocol names the events of the memory-retrieval node. All events of nodes but ``node_state_change`` are also
    in the stream of the group.
    """

    NODE_STATE_CHANGE = "node_state_change"
    MEMORY_RETRIEVED = "memory_retrieved"
    MEMORY_RETRIEVAL_ERROR = "memory_retrieval_error"
    FACT_CHECKED = "fact_checked"
    FACT_CHECK_ERROR = "fact_check_error"

    CAPTURED = "captured"
    ADMITTED = "admitted"
    REFUSED = "refused"
    REQUEUED = "requeued"
    ENTRY_REMOVED = "entry_removed"
    DIGEST_REQUESTED = "digest_requested"
    DIGEST_MADE = "digest_made"
    DIGEST_FAILED = "digest_failed"
    PROMOTED = "promoted"
    PROMOTION_COMPLETED = "promotion_completed"
    SUPERSEDED = "superseded"
    REJECTED = "rejected"
    MERGED = "merged"
    SNOOZED = "snoozed"
    RETRACTED = "retracted"
    UNDONE = "undone"
    TOMBSTONE_ADDED = "tombstone_added"
    TOMBSTONE_LIFTED = "tombstone_lifted"

    SUBSCRIBED = "subscribed"
    RESET = "reset"
    DEGRADED = "degraded"
    RECOVERED = "recovered"


class ClaimRating(StrEnum):
    """What a fact check says about a claim."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    UNKNOWN = "unknown"


class Stance(StrEnum):
    """How a piece of evidence relates to a claim."""

    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"


class FactCheckMethod(StrEnum):
    """Who rated the claims of a fact check: a language model, or the comparison rules."""

    LLM = "llm"
    RULES = "rules"


class Relation(StrEnum):
    """How a new statement relates to a known one."""

    SAME = "same"
    CONFLICT = "conflict"
    DIFFERENT = "different"


class DigestStatus(StrEnum):
    """The state of a digest."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class InsightState(StrEnum):
    """The state of an insight. ``promoting`` is never stored: it is promoted, and its memory is not written yet."""

    PENDING = "pending"
    PROMOTING = "promoting"
    PROMOTED = "promoted"
    REJECTED = "rejected"
    SNOOZED = "snoozed"
    MERGED = "merged"


class MemoryState(StrEnum):
    """The state of a promoted memory. ``promoting``: decided, and its chunks are not written yet.

    Of a ``forgotten`` one only the decision is left, without the text. It cannot be restored.
    """

    VERIFIED = "verified"
    PROMOTING = "promoting"
    WITHDRAWN = "withdrawn"
    FORGOTTEN = "forgotten"


ENDED: Final = frozenset({MemoryState.WITHDRAWN, MemoryState.FORGOTTEN})
"""The states of memories that are no longer valid."""


class Writer(StrEnum):
    """Who wrote the text of an insight: quoted from its sources, a language model, or a person."""

    EXTRACTIVE = "extractive"
    MODEL = "model"
    PERSON = "person"


class Action(StrEnum):
    """The actions of review."""

    PROMOTE = "promote"
    REJECT = "reject"
    MERGE = "merge"
    SNOOZE = "snooze"
    RETRACT = "retract"
    UNDO = "undo"


class ModelRole(StrEnum):
    """What Clearwell uses a model for: vectors, self-consistency, the text of insights."""

    EMBEDDER = "embedder"
    JUDGE = "judge"
    WRITER = "writer"


class EvaluationStatus(StrEnum):
    """The result of evaluating a model. ``incomplete`` means that the time was not enough for all cases."""

    GOOD_ENOUGH = "good_enough"
    NOT_GOOD_ENOUGH = "not_good_enough"
    INCOMPLETE = "incomplete"
    FAILED = "failed"
    NOT_CONFIGURED = "not_configured"


class Measure(StrEnum):
    """What is measured when a model is evaluated. Each is a share of the cases, from 0 to 1."""

    ABOVE_UNRELATED = "above_unrelated"
    ABOVE_NEAR = "above_near"
    QUESTIONS_ANSWERED = "questions_answered"
    PARAPHRASES_SIMILAR = "paraphrases_similar"
    UNRELATED_SIMILAR = "unrelated_similar"
    FALSE_DUPLICATES = "false_duplicates"
    DUPLICATES_FOUND = "duplicates_found"
    ANSWERS_RELEVANT = "answers_relevant"
    OTHERS_RELEVANT = "others_relevant"
    SOUND_PASSED = "sound_passed"
    CONTRADICTIONS_FOUND = "contradictions_found"
    INVENTIONS_FOUND = "inventions_found"
    FACTS_KEPT = "facts_kept"
    NOTHING_INVENTED = "nothing_invented"
    DISPUTES_SHOWN = "disputes_shown"
    USABLE_ANSWERS = "usable_answers"


class AuditAction(StrEnum):
    """What the audit records, in the order of the path."""

    REFUSED = "refused"
    SETTLE_CAPTURES = "settle captures"
    ADMIT = "admit"
    REQUEUE = "requeue"
    ASSIGN = "assign"
    REMOVE_WORKING_ENTRY = "remove working entry"
    REQUEST_DIGEST = "request digest"
    MAKE_DIGEST = "make digest"
    GIVE_UP_DIGEST = "give up digest"
    PROMOTE = "promote"
    CARRY_OUT_PROMOTION = "carry out promotion"
    REJECT_INSIGHT = "reject insight"
    MERGE_INSIGHT = "merge insight"
    SNOOZE_INSIGHT = "snooze insight"
    RETRACT = "retract"
    UNDO = "undo"
    ADD_TOMBSTONE = "add tombstone"
    LIFT_TOMBSTONE = "lift tombstone"
    REBUILD_MEMORIES = "rebuild memories"
    FORGET = "forget"
    EXPORT = "export"
    BEGIN_IMPORT = "begin import"
    IMPORT = "import"
    CHANGE_GROUP = "change group"
    PUT_AGENT = "put agent"
    REMOVE_AGENT = "remove agent"
    CREATE_KEY = "create key"
    REVOKE_KEY = "revoke key"
    BACKUP = "backup"
    RESTORE = "restore"
    ACCEPT_TRAIL = "accept trail"


class AuditFault(StrEnum):
    """What a verification of the audit trail can find."""

    CHANGED = "changed"
    REMOVED = "removed"
    INSERTED = "inserted"
    UNKNOWN_KEY = "unknown_key"
    UNSEALED = "unsealed"
    SEAL_CHANGED = "seal_changed"
    SEAL_REMOVED = "seal_removed"
    TAIL_REMOVED = "tail_removed"
    HEAD_INVALID = "head_invalid"
    TRAIL_CUT = "trail_cut"
    TRAIL_REPLACED = "trail_replaced"


class AuditWarning(StrEnum):
    """What a verification of the audit trail cannot exclude."""

    HEAD_BEGUN = "head_begun"
    HEADS_DAMAGED = "heads_damaged"
    HEADS_UNWRITABLE = "heads_unwritable"
    HEADS_FULL = "heads_full"


class HeadsProblem(StrEnum):
    """Why heads of the audit trail are not kept, or were lost."""

    DAMAGED = "damaged"
    UNWRITABLE = "unwritable"
    FULL = "full"


class CheckStatus(StrEnum):
    """What ``clearwell doctor`` makes of a part of the installation."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


class OutputState(StrEnum):
    """The state of an output in working memory now."""

    WAITING = "waiting"
    REFUSED = "refused"
    LIVE = "live"
    REMOVED = "removed"
    EXPIRED = "expired"
    DISPLACED = "displaced"
    UNKNOWN = "unknown"
