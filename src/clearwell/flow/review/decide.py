"""What a person can decide on an insight: one file for each kind of decision."""

from collections.abc import Mapping

from clearwell.errors import InvalidInput
from clearwell.flow.ingress.knowledge import Knowledge
from clearwell.flow.promotion.promoter import Promoter
from clearwell.flow.review.merging import Merging
from clearwell.flow.review.promoting import PromotingInsights
from clearwell.flow.review.recording import Recording
from clearwell.flow.review.rejecting import Rejecting
from clearwell.flow.review.snoozing import Snoozing
from clearwell.flow.review.wanted import Preparing, Step
from clearwell.ports import Clock, Embedder, Ids, ReviewStore
from clearwell.records import Action, DecisionRequest, Principal
from clearwell.settings import Settings


class Deciding:
    def __init__(
        self,
        reviewed: ReviewStore,
        promoter: Promoter,
        knowledge: Knowledge,
        embedder: Embedder,
        clock: Clock,
        ids: Ids,
        settings: Settings,
    ) -> None:
        recording = Recording(clock, ids)
        self._kinds: Mapping[Action, Preparing] = {
            Action.PROMOTE: PromotingInsights(reviewed, promoter, clock, settings),
            Action.REJECT: Rejecting(reviewed, knowledge, embedder, recording, clock, ids),
            Action.MERGE: Merging(recording, clock, settings),
            Action.SNOOZE: Snoozing(recording, clock),
        }

    async def prepared(self, group_id: str, wanted: DecisionRequest, *, by: Principal) -> Step:
        """The step that is left to be taken at the desk."""
        kind = self._kinds.get(wanted.action)
        if kind is None:
            raise InvalidInput("action_unknown", field="action", limit="promote, reject, merge, snooze, undo")
        return await kind.prepared(group_id, wanted, by)
