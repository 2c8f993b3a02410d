"""The queue of jobs, on procrastinate: what runs a digest, in this process or in another one.

A job's arguments are ids, and the row in ``digests`` is the truth: a job that is lost is put again, and one that is
done twice finds its digest taken or ended. Of procrastinate's periodic tasks nothing is used: they are declared in
code, in UTC, while the schedules of groups are rows with a time zone.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from uuid import UUID

import structlog
from procrastinate import App, BaseRetryStrategy, PsycopgConnector, RetryDecision
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException, UniqueViolation
from procrastinate.jobs import DeleteJobCondition, Job, Status
from procrastinate.worker import Worker
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict

from clearwell.errors import DatabaseUnavailable
from clearwell.ports.digest import RunDigest
from clearwell.stores.postgres.database import first_line
from clearwell.stores.postgres.queries import query

log = structlog.get_logger(__name__)
QUEUE, DIGEST = "digests", "digest"
STOP_SECONDS = 10.0


class TryAgain(Exception):
    """The job is to be done again at a later time."""

    def __init__(self, at: datetime) -> None:
        super().__init__(at)
        self.at = at


class _WhenAsked(BaseRetryStrategy):
    """A job is retried when it says so itself. What else goes wrong is found by the sweep."""

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:  # noqa: ARG002
        return RetryDecision(retry_at=exception.at) if isinstance(exception, TryAgain) else None


class PostgresJobs:
    """Puts jobs, runs them, and takes up those of workers that are gone."""

    def __init__(self, url: str, *, connect_seconds: float, statement_seconds: float, stalled_seconds: float) -> None:
        async def enter(connection: AsyncConnection) -> None:
            await connection.execute(query("start_jobs"), {"milliseconds": str(int(statement_seconds * 1000))})
            await connection.commit()

        self._stalled_seconds = stalled_seconds
        self._app = App(
            connector=PsycopgConnector(
                conninfo=url,
                min_size=0,
                max_size=4,
                timeout=connect_seconds,
                reconnect_timeout=connect_seconds,
                configure=enter,
                kwargs={
                    "connect_timeout": max(2, int(connect_seconds)),
                    "application_name": conninfo_to_dict(url).get("application_name") or "clearwell",
                },
                name="clearwell jobs",
            )
        )
        self._app.task(name=DIGEST, queue=QUEUE, retry=_WhenAsked())(self._digest)
        self._run_digest: RunDigest | None = None

    async def open(self) -> None:
        with _translated_errors():
            await self._app.open_async()

    async def close(self) -> None:
        await self._app.close_async()

    async def put(self, group_id: str, digest_id: UUID) -> None:
        one = str(digest_id)
        deferrer = self._app.configure_task(DIGEST, lock=one, queueing_lock=one)
        with _translated_errors():
            try:
                await deferrer.defer_async(group_id=group_id, digest_id=one)
            except AlreadyEnqueued:
                return

    async def queued(self) -> frozenset[UUID]:
        """The digests that have a job, waiting or running."""
        with _translated_errors():
            jobs = await self._app.job_manager.list_jobs_async(queue=QUEUE)
        live = (Status.TODO.value, Status.DOING.value)
        return frozenset(UUID(str(job.task_kwargs["digest_id"])) for job in jobs if job.status in live)

    async def take_up(self) -> int:
        """Put back the jobs of workers that gave no sign of life for a while; how many there were."""
        with _translated_errors():
            manager = self._app.job_manager
            stalled = await manager.get_stalled_jobs(queue=QUEUE, seconds_since_heartbeat=self._stalled_seconds)
            return sum([await self._put_back(job) for job in stalled])

    async def _put_back(self, job: Job) -> bool:
        manager = self._app.job_manager
        try:
            await manager.retry_job(job)
        except UniqueViolation:
            # The digest has another job, which waits for this one to go away.
            await manager.finish_job(job, status=Status.FAILED, delete_job=True)
        except ConnectorException as error:
            log.info("a stalled job is no longer there", reason=_told(error))
            return False
        return True

    @asynccontextmanager
    async def working(self, run_digest: RunDigest) -> AsyncIterator[None]:
        """Run jobs as long as this lasts."""
        self._run_digest = run_digest
        ended = asyncio.Event()
        task = asyncio.create_task(self._work(ended), name="jobs")
        try:
            yield
        finally:
            ended.set()
            await _finished(task)

    async def _digest(self, group_id: str, digest_id: str) -> None:
        assert self._run_digest is not None  # noqa: S101 - jobs run only while somebody works
        again = await self._run_digest(group_id, UUID(digest_id))
        if again is not None:
            raise TryAgain(again)

    async def _work(self, ended: asyncio.Event) -> None:
        """One worker after the other: procrastinate's ends when the database does not answer."""
        while not ended.is_set():
            worker = self._worker()
            run = asyncio.create_task(worker.run())  # type: ignore[no-untyped-call]
            stop = asyncio.create_task(ended.wait())
            await asyncio.wait([run, stop], return_when=asyncio.FIRST_COMPLETED)
            stop.cancel()
            worker.stop()  # type: ignore[no-untyped-call]
            try:
                await run
            except ConnectorException as error:
                log.warning("jobs put off", reason=_told(error))
            if not ended.is_set():
                await _wait(ended, self._stalled_seconds / 10)

    def _worker(self) -> Worker:
        return Worker(
            self._app,
            queues=[QUEUE],
            name="clearwell",
            concurrency=1,
            install_signal_handlers=False,
            delete_jobs=DeleteJobCondition.ALWAYS,
            update_heartbeat_interval=self._stalled_seconds / 4,
            stalled_worker_timeout=self._stalled_seconds,
            shutdown_graceful_timeout=0,
        )


async def _wait(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return


async def _finished(task: "asyncio.Task[None]") -> None:
    """Wait for the worker's own way out; one that does not find it is cancelled until it is gone."""
    await asyncio.wait([task], timeout=STOP_SECONDS)
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=0.1)


@contextmanager
def _translated_errors() -> Iterator[None]:
    try:
        yield
    except ConnectorException as error:
        raise DatabaseUnavailable("database_unavailable", problem=_told(error)) from error


def _told(error: ConnectorException) -> str:
    """What the driver said: procrastinate's own words are always the same."""
    return first_line(error.__cause__ if isinstance(error.__cause__, Exception) else error)
