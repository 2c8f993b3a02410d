"""Whether two processes would decide alike on a capture: by the settings that admission depends on."""

import hashlib
import json
from typing import Final

from clearwell.settings import Settings

DECIDE: Final = (
    "ingress_checks", "confidence_threshold", "require_confidence", "min_width", "refuse_instructions",
    "require_substance", "duplicate_similarity",
    "conflict_similarity", "near_rejected_similarity", "echo_coverage", "recall_seconds", "node_policies",
    "require_self_consistency", "working_ttl_seconds", "working_size", "working_agent_share",
    "working_content_bytes", "embedder",
    "embedding_model", "embedding_base_url", "judge_base_url", "judge_model", "judge_max_chars",
)  # fmt: skip


def fingerprint(settings: Settings) -> str:
    """Return a hash of the settings that is equal in processes that decide alike.

    Of an API key it only covers whether it is set.
    """
    chosen = settings.model_dump(mode="json", include=set(DECIDE))
    chosen["keys"] = [settings.judge_api_key is not None, settings.embedding_api_key is not None]
    return hashlib.sha256(json.dumps(chosen, sort_keys=True).encode()).hexdigest()[:32]
