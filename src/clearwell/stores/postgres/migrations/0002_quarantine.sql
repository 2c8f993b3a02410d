-- Tier 1: everything a node said, and what the ingress filter made of it.
CREATE TABLE quarantine_logs (
    group_id text NOT NULL CHECK (group_id <> ''),
    id uuid NOT NULL,
    session_id text,
    node_id text,
    node_type text NOT NULL,
    agent_id text,
    content text NOT NULL,
    raw_metadata jsonb NOT NULL,
    partial boolean NOT NULL,
    occurred_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    captured_by text NOT NULL,
    idempotency_key text,
    request_hash bytea,
    PRIMARY KEY (group_id, id)
);

CREATE UNIQUE INDEX quarantine_logs_request ON quarantine_logs (group_id, captured_by, idempotency_key)
    WHERE idempotency_key IS NOT NULL;

-- The small mutable part. The partial indexes hold pending rows and admitted ones only.
-- Without a foreign key: a row is made by the statement that makes its quarantine row, and the check would cost
-- every capture a sixth of its time.
CREATE TABLE admissions (
    group_id text NOT NULL,
    log_id uuid NOT NULL,
    state text NOT NULL CHECK (state IN ('pending', 'admitted', 'refused')),
    attempts integer NOT NULL DEFAULT 0,
    next_try_at timestamptz NOT NULL,
    settled_at timestamptz,
    flags text[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (group_id, log_id),
    CHECK ((state = 'pending') = (settled_at IS NULL))
);

CREATE INDEX admissions_pending ON admissions (next_try_at) WHERE state = 'pending';
CREATE INDEX admissions_admitted ON admissions (group_id, settled_at) WHERE state = 'admitted';

CREATE TABLE ingress_verdicts (
    group_id text NOT NULL,
    log_id uuid NOT NULL,
    at timestamptz NOT NULL,
    position smallint NOT NULL,
    "check" text NOT NULL,
    outcome text NOT NULL CHECK (outcome IN ('pass', 'fail', 'flag', 'pending', 'not_checked')),
    value jsonb,
    threshold double precision,
    reason text NOT NULL,
    params jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (group_id, log_id, at, position),
    FOREIGN KEY (group_id, log_id) REFERENCES quarantine_logs (group_id, id)
);

CREATE TABLE quarantine_vectors (
    group_id text NOT NULL,
    log_id uuid NOT NULL,
    model text NOT NULL,
    embedding halfvec NOT NULL,
    PRIMARY KEY (group_id, log_id, model),
    FOREIGN KEY (group_id, log_id) REFERENCES quarantine_logs (group_id, id)
);
ALTER TABLE quarantine_vectors ALTER COLUMN embedding SET STORAGE MAIN;

-- A repeat of an entry. From another agent it corroborates.
CREATE TABLE sightings (
    group_id text NOT NULL,
    entry_id uuid NOT NULL,
    log_id uuid NOT NULL,
    layer text NOT NULL CHECK (layer IN ('working', 'longterm')),
    agent_id text,
    session_id text,
    at timestamptz NOT NULL,
    PRIMARY KEY (group_id, entry_id, log_id),
    FOREIGN KEY (group_id, log_id) REFERENCES quarantine_logs (group_id, id)
);
