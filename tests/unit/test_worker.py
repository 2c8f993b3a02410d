"""Which duties a process has."""

from clearwell.worker import Worker
from tests.path import Path


def test_a_process_that_does_not_sweep_keeps_up_with_the_embedding_model_alone() -> None:
    worker = Worker(Path().program)
    assert [duty.name for duty in worker.duties(sweeps=False)] == ["embedding models"]
    assert {"embedding models", "heartbeat", "admissions", "digests"} <= {duty.name for duty in worker.duties()}
