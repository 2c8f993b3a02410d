-- The whole schema of Clearwell, as the migrations make it. Written by `make schema`, never by hand.
-- The roles it grants to belong to the whole server and are made by 0001_roles.sql.

SET check_function_bodies = false;
CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;
COMMENT ON EXTENSION vector IS 'vector data type and ivfflat and hnsw access methods';
CREATE TABLE public.agents (
    group_id text NOT NULL,
    agent_id text NOT NULL,
    persona text DEFAULT ''::text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT agents_check CHECK (((group_id <> ''::text) AND (group_id <> 'unassigned'::text) AND (agent_id <> ''::text)))
);
ALTER TABLE ONLY public.agents FORCE ROW LEVEL SECURITY;
CREATE TABLE public.api_keys (
    id uuid NOT NULL,
    name text NOT NULL,
    secret_hash bytea NOT NULL,
    rights text[] NOT NULL,
    groups text[],
    agent_id text,
    created_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone,
    CONSTRAINT api_keys_rights_check CHECK (((rights <@ ARRAY['capture'::text, 'read'::text, 'review'::text, 'admin'::text]) AND (rights <> '{}'::text[])))
);
CREATE FUNCTION public.clearwell_agent_names(wanted text) RETURNS SETOF text
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    BEGIN ATOMIC
 SELECT agents.agent_id
    FROM public.agents
   WHERE (agents.group_id = clearwell_agent_names.wanted)
 UNION
  SELECT api_keys.agent_id
    FROM public.api_keys
   WHERE ((api_keys.agent_id IS NOT NULL) AND ((api_keys.groups IS NULL) OR (clearwell_agent_names.wanted = ANY (api_keys.groups))));
END;
CREATE FUNCTION public.clearwell_dimensions(lexemes public.sparsevec) RETURNS integer[]
    LANGUAGE sql IMMUTABLE STRICT COST 1000 PARALLEL SAFE
    RETURN (split_part(regexp_replace((lexemes)::text, ':[^,}]+'::text, ''::text, 'g'::text), '/'::text, 1))::integer[];
CREATE TABLE public.ingress_verdicts (
    group_id text NOT NULL,
    log_id uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    "position" smallint NOT NULL,
    "check" text NOT NULL,
    outcome text NOT NULL,
    value jsonb,
    threshold double precision,
    reason text NOT NULL,
    params jsonb DEFAULT '{}'::jsonb NOT NULL,
    CONSTRAINT ingress_verdicts_outcome_check CHECK ((outcome = ANY (ARRAY['pass'::text, 'fail'::text, 'flag'::text, 'pending'::text, 'not_checked'::text])))
);
ALTER TABLE ONLY public.ingress_verdicts FORCE ROW LEVEL SECURITY;
CREATE TABLE public.quarantine_logs (
    group_id text NOT NULL,
    id uuid NOT NULL,
    session_id text,
    node_id text,
    node_type text NOT NULL,
    agent_id text,
    content text NOT NULL,
    raw_metadata jsonb NOT NULL,
    partial boolean NOT NULL,
    occurred_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    captured_by text NOT NULL,
    idempotency_key text,
    request_hash bytea,
    import_id uuid,
    CONSTRAINT quarantine_logs_group_id_check CHECK ((group_id <> ''::text))
);
ALTER TABLE ONLY public.quarantine_logs FORCE ROW LEVEL SECURITY;
CREATE FUNCTION public.clearwell_empty_forgotten(emptied uuid) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    BEGIN ATOMIC
 UPDATE public.quarantine_logs q SET content = ''::text, raw_metadata = '{}'::jsonb, request_hash = NULL::bytea
   WHERE ((q.group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)) AND (q.id = clearwell_empty_forgotten.emptied) AND (EXISTS ( SELECT
            FROM public.ingress_verdicts v
           WHERE ((v.group_id = q.group_id) AND (v.log_id = q.id) AND (v.reason = 'verdict_tombstone_forgotten'::text)))));
END;
CREATE FUNCTION public.clearwell_find_key(hash bytea) RETURNS TABLE(any_key_ever boolean, id uuid, name text, rights text[], groups text[], agent_id text, created_at timestamp with time zone)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    BEGIN ATOMIC
 SELECT (EXISTS ( SELECT
            FROM public.api_keys)) AS "exists",
     k.id,
     k.name,
     k.rights,
     k.groups,
     k.agent_id,
     k.created_at
    FROM (( SELECT) one
      LEFT JOIN public.api_keys k ON (((k.secret_hash = clearwell_find_key.hash) AND (k.revoked_at IS NULL))));
END;
CREATE TABLE public.console_sessions (
    token_hash bytea NOT NULL,
    key_id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL
);
CREATE FUNCTION public.clearwell_find_session(hash bytea, at timestamp with time zone) RETURNS TABLE(any_key_ever boolean, id uuid, name text, rights text[], groups text[], agent_id text, created_at timestamp with time zone)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    BEGIN ATOMIC
 SELECT (EXISTS ( SELECT
            FROM public.api_keys)) AS "exists",
     k.id,
     k.name,
     k.rights,
     k.groups,
     k.agent_id,
     k.created_at
    FROM ((( SELECT) one
      LEFT JOIN public.console_sessions s ON (((s.token_hash = clearwell_find_session.hash) AND (s.expires_at > clearwell_find_session.at))))
      LEFT JOIN public.api_keys k ON (((k.id = s.key_id) AND (k.revoked_at IS NULL))));
END;
CREATE PROCEDURE public.clearwell_guard(IN path_table regclass)
    LANGUAGE plpgsql
    AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', path_table);
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', path_table);
    EXECUTE format(
        'CREATE POLICY own_group ON %s
            USING (group_id = nullif(current_setting(''clearwell.group'', true), ''''))
            WITH CHECK (group_id = nullif(current_setting(''clearwell.group'', true), ''''))', path_table);
END
$$;
CREATE FUNCTION public.clearwell_has_revoked(held uuid[]) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
BEGIN
    PERFORM FROM api_keys WHERE id = ANY(held) FOR SHARE;
    RETURN EXISTS (SELECT FROM api_keys WHERE id = ANY(held) AND revoked_at IS NOT NULL);
END
$$;
CREATE FUNCTION public.clearwell_index_name(kind text, group_id text, model text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ((('memories_'::text || kind) || '_'::text) || "left"(encode(sha256(convert_to((((length(group_id) || ':'::text) || group_id) || model), 'UTF8'::name)), 'hex'::text), 32));
CREATE FUNCTION public.clearwell_is_split(content text, chunks text[]) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
DECLARE
    blank CONSTANT text := E' \t\n\x0b\x0c\r\x1c\x1d\x1e\x1f\u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006'
        || E'\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000';
    longest CONSTANT integer := (SELECT max(length(one)) FROM unnest(chunks) AS one);
    said text := '';
    rest text := content;
    chunk text;
    block text;
    place integer;
    taken integer;
BEGIN
    FOREACH chunk IN ARRAY chunks || NULL::text LOOP
        LOOP
            block := left(rest, longest);
            taken := length(block) - length(ltrim(block, blank));
            EXIT WHEN taken = 0;
            said := right(said || left(block, taken), longest);
            rest := substr(rest, taken + 1);
        END LOOP;
        EXIT WHEN chunk IS NULL;
        block := right(said, length(chunk) - 1);
        taken := length(block);
        block := block || left(rest, length(chunk));
        place := strpos(reverse(block), reverse(chunk));
        IF chunk = '' OR place = 0 THEN
            RETURN false;
        END IF;
        taken := length(block) - place + 1 - taken;
        said := right(said || left(rest, taken), longest);
        rest := substr(rest, taken + 1);
    END LOOP;
    RETURN rest = '';
END
$$;
CREATE TABLE public.decisions (
    group_id text NOT NULL,
    id uuid NOT NULL,
    action text NOT NULL,
    insight_id uuid,
    promotion_id uuid,
    memory_id uuid,
    tombstone_id uuid,
    supersedes uuid,
    others uuid[] DEFAULT '{}'::uuid[] NOT NULL,
    undoes uuid,
    already boolean DEFAULT false NOT NULL,
    until timestamp with time zone,
    reason text,
    text_before text,
    text_after text,
    writer_before text,
    decided_by text NOT NULL,
    decided_at timestamp with time zone NOT NULL,
    origin_id uuid,
    before jsonb,
    side_sources uuid[],
    CONSTRAINT decisions_action_check CHECK ((action = ANY (ARRAY['promote'::text, 'reject'::text, 'merge'::text, 'snooze'::text, 'retract'::text, 'undo'::text]))),
    CONSTRAINT decisions_check CHECK (((action = 'undo'::text) = (undoes IS NOT NULL))),
    CONSTRAINT decisions_group_id_check CHECK (((group_id <> ''::text) AND (group_id <> 'unassigned'::text)))
);
ALTER TABLE ONLY public.decisions FORCE ROW LEVEL SECURITY;
CREATE FUNCTION public.clearwell_is_superseded(superseded uuid) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    BEGIN ATOMIC
 SELECT ((EXISTS ( SELECT
            FROM public.decisions d
           WHERE ((d.group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)) AND (d.supersedes = clearwell_is_superseded.superseded) AND (d.action = 'promote'::text) AND (d.memory_id <> clearwell_is_superseded.superseded) AND (NOT (EXISTS ( SELECT
                    FROM public.decisions u
                   WHERE ((u.group_id = d.group_id) AND (u.undoes = d.id)))))))) AND (NOT (EXISTS ( SELECT
            FROM public.decisions d
           WHERE ((d.group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)) AND (d.action = 'retract'::text) AND (clearwell_is_superseded.superseded = ANY (d.others)) AND (NOT (EXISTS ( SELECT
                    FROM public.decisions u
                   WHERE ((u.group_id = d.group_id) AND (u.undoes = d.id))))))))));
END;
CREATE FUNCTION public.clearwell_meets(stored jsonb, operator text, wanted jsonb) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $$
BEGIN
    RETURN CASE operator
        WHEN 'exists' THEN (stored IS NOT NULL) = (wanted = 'true'::jsonb)
        WHEN 'eq' THEN coalesce(stored = wanted, false)
        WHEN 'ne' THEN stored IS DISTINCT FROM wanted
        WHEN 'in' THEN coalesce(EXISTS (SELECT FROM jsonb_array_elements(wanted) AS one WHERE one = stored), false)
        WHEN 'nin' THEN NOT EXISTS (SELECT FROM jsonb_array_elements(wanted) AS one WHERE one = stored)
        WHEN 'contains' THEN CASE jsonb_typeof(stored)
            WHEN 'string' THEN jsonb_typeof(wanted) = 'string' AND strpos(stored #>> '{}', wanted #>> '{}') > 0
            WHEN 'array' THEN EXISTS (SELECT FROM jsonb_array_elements(stored) AS one WHERE one = wanted)
            ELSE false END
        ELSE CASE
            WHEN jsonb_typeof(stored) IS DISTINCT FROM jsonb_typeof(wanted) THEN false
            WHEN jsonb_typeof(wanted) = 'number' THEN CASE operator
                WHEN 'gt' THEN stored > wanted WHEN 'gte' THEN stored >= wanted
                WHEN 'lt' THEN stored < wanted WHEN 'lte' THEN stored <= wanted ELSE false END
            WHEN jsonb_typeof(wanted) = 'string' THEN CASE operator
                WHEN 'gt' THEN (stored #>> '{}') COLLATE "C" > (wanted #>> '{}') COLLATE "C"
                WHEN 'gte' THEN (stored #>> '{}') COLLATE "C" >= (wanted #>> '{}') COLLATE "C"
                WHEN 'lt' THEN (stored #>> '{}') COLLATE "C" < (wanted #>> '{}') COLLATE "C"
                WHEN 'lte' THEN (stored #>> '{}') COLLATE "C" <= (wanted #>> '{}') COLLATE "C" ELSE false END
            ELSE false END
    END;
END
$$;
CREATE TABLE public.memories (
    group_id text NOT NULL,
    id uuid NOT NULL,
    chunk_no integer NOT NULL,
    promotion_id uuid NOT NULL,
    scope text NOT NULL,
    agent_id text,
    content text NOT NULL,
    embedding public.halfvec NOT NULL,
    embedding_model text NOT NULL,
    session_id text,
    author text,
    occurred_at timestamp with time zone,
    metadata jsonb NOT NULL,
    promoted_at timestamp with time zone NOT NULL,
    valid_to timestamp with time zone,
    "position" integer,
    lexemes public.sparsevec(1048576) DEFAULT '{}/1048576'::public.sparsevec NOT NULL,
    tokenizer_version smallint DEFAULT 0 NOT NULL,
    asks boolean GENERATED ALWAYS AS (("right"(rtrim(content, ' 	
"'')]*_”’」』）'::text), 1) = ANY (ARRAY['?'::text, '？'::text]))) STORED NOT NULL,
    disputed boolean DEFAULT false NOT NULL,
    flags text[] DEFAULT '{}'::text[] NOT NULL,
    CONSTRAINT memories_check CHECK (((scope = 'agent'::text) = (agent_id IS NOT NULL))),
    CONSTRAINT memories_scope_check CHECK ((scope = ANY (ARRAY['group'::text, 'agent'::text])))
)
WITH (toast_tuple_target='8160');
ALTER TABLE ONLY public.memories ALTER COLUMN embedding SET STORAGE MAIN;
ALTER TABLE ONLY public.memories ALTER COLUMN lexemes SET STORAGE MAIN;
ALTER TABLE ONLY public.memories FORCE ROW LEVEL SECURITY;
CREATE TABLE public.promotion_work (
    group_id text NOT NULL,
    promotion_id uuid NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    next_try_at timestamp with time zone NOT NULL,
    problem text
);
ALTER TABLE ONLY public.promotion_work FORCE ROW LEVEL SECURITY;
CREATE TABLE public.promotions (
    group_id text NOT NULL,
    id uuid NOT NULL,
    memory_id uuid NOT NULL,
    scope text NOT NULL,
    agent_id text,
    origin text NOT NULL,
    origin_id uuid,
    content text NOT NULL,
    session_id text,
    author text,
    occurred_at timestamp with time zone,
    metadata jsonb NOT NULL,
    supersedes uuid,
    decided_by text NOT NULL,
    decided_at timestamp with time zone NOT NULL,
    fingerprint bytea,
    flags text[] DEFAULT '{}'::text[] NOT NULL,
    import_id uuid,
    CONSTRAINT promotions_check CHECK (((scope = 'agent'::text) = (agent_id IS NOT NULL))),
    CONSTRAINT promotions_check1 CHECK (((origin = 'typed'::text) = (origin_id IS NULL))),
    CONSTRAINT promotions_group_id_check CHECK (((group_id <> ''::text) AND (group_id <> 'unassigned'::text))),
    CONSTRAINT promotions_origin_check CHECK ((origin = ANY (ARRAY['typed'::text, 'working'::text, 'quarantine'::text, 'insight'::text]))),
    CONSTRAINT promotions_scope_check CHECK ((scope = ANY (ARRAY['group'::text, 'agent'::text])))
);
ALTER TABLE ONLY public.promotions FORCE ROW LEVEL SECURITY;
CREATE FUNCTION public.clearwell_supersede(waiting uuid, at timestamp with time zone) RETURNS TABLE(id uuid, chunk_no integer, session_id text, agent_id text, author text, content text, "position" integer)
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    BEGIN ATOMIC
 UPDATE public.memories m SET valid_to = clearwell_supersede.at
    FROM ( SELECT DISTINCT d.group_id,
             d.supersedes AS id
            FROM ((public.promotion_work w
              JOIN public.promotions p ON (((p.group_id = w.group_id) AND (p.id = w.promotion_id))))
              JOIN public.decisions d ON (((d.group_id = p.group_id) AND (d.memory_id = p.memory_id) AND (d.action = 'promote'::text))))
           WHERE ((w.group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)) AND (w.promotion_id = clearwell_supersede.waiting) AND (d.supersedes <> p.memory_id) AND (NOT (EXISTS ( SELECT
                    FROM public.decisions u
                   WHERE ((u.group_id = d.group_id) AND (u.undoes = d.id))))))) replaced
   WHERE ((m.group_id = replaced.group_id) AND (m.id = replaced.id) AND (m.valid_to IS NULL))
   RETURNING m.id,
     m.chunk_no,
     m.session_id,
     m.agent_id,
     m.author,
     m.content,
     m."position";
END;
CREATE FUNCTION public.clearwell_worded(terms integer[]) RETURNS SETOF tid
    LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 2000
    SET search_path TO 'pg_catalog'
    SET enable_seqscan TO 'off'
    AS $_$
BEGIN
    RETURN QUERY EXECUTE
        'SELECT ctid FROM public.memories WHERE group_id = $1 AND public.clearwell_dimensions(lexemes) && $2'
        USING nullif(current_setting('clearwell.group', true), ''), terms;
END
$_$;
CREATE TABLE public.admissions (
    group_id text NOT NULL,
    log_id uuid NOT NULL,
    state text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    next_try_at timestamp with time zone NOT NULL,
    settled_at timestamp with time zone,
    flags text[] DEFAULT '{}'::text[] NOT NULL,
    removed_at timestamp with time zone,
    removed_by text,
    judge_tries integer DEFAULT 0 NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    leased_by uuid,
    leased_until timestamp with time zone,
    CONSTRAINT admissions_check CHECK (((state = 'pending'::text) = (settled_at IS NULL))),
    CONSTRAINT admissions_check1 CHECK (((leased_by IS NULL) = (leased_until IS NULL))),
    CONSTRAINT admissions_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'admitted'::text, 'refused'::text])))
);
ALTER TABLE ONLY public.admissions FORCE ROW LEVEL SECURITY;
CREATE TABLE public.audit_events (
    id uuid NOT NULL,
    group_id text NOT NULL,
    at timestamp with time zone NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    subject text NOT NULL,
    detail jsonb DEFAULT '{}'::jsonb NOT NULL,
    signature bytea
);
ALTER TABLE ONLY public.audit_events FORCE ROW LEVEL SECURITY;
CREATE TABLE public.audit_pending (
    group_id text NOT NULL,
    event_id uuid NOT NULL
);
ALTER TABLE ONLY public.audit_pending FORCE ROW LEVEL SECURITY;
CREATE TABLE public.audit_seals (
    group_id text NOT NULL,
    number integer NOT NULL,
    sealed_at timestamp with time zone NOT NULL,
    event_ids uuid[] NOT NULL,
    event_hashes bytea NOT NULL,
    root bytea NOT NULL,
    signature bytea NOT NULL,
    CONSTRAINT audit_seals_event_ids_check CHECK ((event_ids <> '{}'::uuid[])),
    CONSTRAINT audit_seals_number_check CHECK ((number > 0))
);
ALTER TABLE ONLY public.audit_seals FORCE ROW LEVEL SECURITY;
CREATE TABLE public.digest_marks (
    group_id text NOT NULL,
    log_id uuid NOT NULL,
    considered smallint DEFAULT 0 NOT NULL,
    judged_by uuid
);
ALTER TABLE ONLY public.digest_marks FORCE ROW LEVEL SECURITY;
CREATE TABLE public.digests (
    group_id text NOT NULL,
    id uuid NOT NULL,
    status text NOT NULL,
    due_at timestamp with time zone,
    requested_by text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    attempts integer DEFAULT 0 NOT NULL,
    progress real DEFAULT 0 NOT NULL,
    note text,
    note_params jsonb DEFAULT '{}'::jsonb NOT NULL,
    report jsonb DEFAULT '{}'::jsonb NOT NULL,
    next_try_at timestamp with time zone,
    leased_until timestamp with time zone,
    CONSTRAINT digests_group_id_check CHECK (((group_id <> ''::text) AND (group_id <> 'unassigned'::text))),
    CONSTRAINT digests_progress_check CHECK (((progress >= (0)::double precision) AND (progress <= (1)::double precision))),
    CONSTRAINT digests_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text, 'done'::text, 'failed'::text])))
);
ALTER TABLE ONLY public.digests FORCE ROW LEVEL SECURITY;
CREATE TABLE public.embedding_models (
    model text NOT NULL,
    dimensions integer NOT NULL,
    first_used_at timestamp with time zone NOT NULL
);
CREATE TABLE public.forgets (
    group_id text NOT NULL,
    id uuid NOT NULL,
    token text NOT NULL,
    receipt jsonb NOT NULL,
    agents text[] DEFAULT '{}'::text[] NOT NULL,
    erased_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone
);
ALTER TABLE ONLY public.forgets FORCE ROW LEVEL SECURITY;
CREATE TABLE public.group_authors (
    group_id text NOT NULL,
    author text NOT NULL,
    spoken text NOT NULL,
    chunks integer NOT NULL,
    reader text DEFAULT ''::text NOT NULL,
    CONSTRAINT group_authors_spoken_check CHECK ((spoken <> ''::text))
);
ALTER TABLE ONLY public.group_authors FORCE ROW LEVEL SECURITY;
CREATE TABLE public.group_indexes (
    group_id text NOT NULL,
    model text NOT NULL,
    dimensions integer NOT NULL,
    state text NOT NULL,
    chunks integer NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    CONSTRAINT group_indexes_state_check CHECK ((state = ANY (ARRAY['building'::text, 'ready'::text, 'failed'::text])))
);
ALTER TABLE ONLY public.group_indexes FORCE ROW LEVEL SECURITY;
CREATE TABLE public.group_secrets (
    group_id text NOT NULL,
    secret bytea NOT NULL
);
ALTER TABLE ONLY public.group_secrets FORCE ROW LEVEL SECURITY;
CREATE TABLE public.group_terms (
    group_id text NOT NULL,
    dimension integer NOT NULL,
    chunks integer NOT NULL,
    reader text DEFAULT ''::text NOT NULL
);
ALTER TABLE ONLY public.group_terms FORCE ROW LEVEL SECURITY;
CREATE TABLE public.groups (
    group_id text NOT NULL,
    system_prompt text DEFAULT ''::text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    digest_cron text,
    digest_zone text,
    scheduled_at timestamp with time zone,
    CONSTRAINT groups_group_id_check CHECK (((group_id <> ''::text) AND (group_id <> 'unassigned'::text)))
);
ALTER TABLE ONLY public.groups FORCE ROW LEVEL SECURITY;
CREATE TABLE public.idempotency (
    principal text NOT NULL,
    route text NOT NULL,
    key text NOT NULL,
    request_hash bytea NOT NULL,
    token uuid NOT NULL,
    status text NOT NULL,
    answer jsonb,
    lease_until timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT idempotency_status_check CHECK ((status = ANY (ARRAY['running'::text, 'done'::text])))
);
CREATE TABLE public.imports (
    group_id text NOT NULL,
    id uuid NOT NULL,
    next_number integer DEFAULT 0 NOT NULL,
    root text DEFAULT ''::text NOT NULL,
    public_key text NOT NULL,
    started_by text NOT NULL,
    started_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    CONSTRAINT imports_group_id_check CHECK (((group_id <> ''::text) AND (group_id <> 'unassigned'::text)))
);
ALTER TABLE ONLY public.imports FORCE ROW LEVEL SECURITY;
CREATE TABLE public.indexed_groups (
    group_id text NOT NULL,
    tokenizer_version smallint NOT NULL
);
ALTER TABLE ONLY public.indexed_groups FORCE ROW LEVEL SECURITY;
CREATE TABLE public.ingress_counts (
    group_id text NOT NULL,
    agent_id text NOT NULL,
    "check" text NOT NULL,
    outcome text NOT NULL,
    count bigint NOT NULL
);
ALTER TABLE ONLY public.ingress_counts FORCE ROW LEVEL SECURITY;
CREATE TABLE public.ingress_days (
    group_id text NOT NULL,
    day date NOT NULL,
    "check" text NOT NULL,
    count bigint NOT NULL
);
ALTER TABLE ONLY public.ingress_days FORCE ROW LEVEL SECURITY;
CREATE TABLE public.insight_sources (
    group_id text NOT NULL,
    insight_id uuid NOT NULL,
    log_id uuid NOT NULL,
    "position" integer NOT NULL,
    statement text,
    merged_from uuid,
    number integer,
    span_start integer,
    span_end integer,
    side smallint
);
ALTER TABLE ONLY public.insight_sources FORCE ROW LEVEL SECURITY;
CREATE TABLE public.insights (
    group_id text NOT NULL,
    id uuid NOT NULL,
    digest_id uuid NOT NULL,
    "position" smallint NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    state text DEFAULT 'pending'::text NOT NULL,
    summary text NOT NULL,
    written_by text NOT NULL,
    flags text[] DEFAULT '{}'::text[] NOT NULL,
    contradictions jsonb DEFAULT '[]'::jsonb NOT NULL,
    support jsonb DEFAULT '{}'::jsonb NOT NULL,
    score double precision DEFAULT 0 NOT NULL,
    model text,
    embedding public.halfvec,
    snoozed_until timestamp with time zone,
    merged_into uuid,
    created_at timestamp with time zone NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    sentences jsonb DEFAULT '[]'::jsonb NOT NULL,
    notes jsonb DEFAULT '[]'::jsonb NOT NULL,
    sides jsonb DEFAULT '[]'::jsonb NOT NULL,
    CONSTRAINT insights_check CHECK (((state = 'merged'::text) = (merged_into IS NOT NULL))),
    CONSTRAINT insights_check1 CHECK (((state = 'snoozed'::text) = (snoozed_until IS NOT NULL))),
    CONSTRAINT insights_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'promoted'::text, 'rejected'::text, 'snoozed'::text, 'merged'::text]))),
    CONSTRAINT insights_written_by_check CHECK ((written_by = ANY (ARRAY['extractive'::text, 'model'::text, 'person'::text])))
);
ALTER TABLE ONLY public.insights FORCE ROW LEVEL SECURITY;
CREATE TABLE public.memory_conflicts (
    group_id text NOT NULL,
    memory_id uuid NOT NULL,
    other_id uuid NOT NULL,
    found_at timestamp with time zone NOT NULL,
    CONSTRAINT memory_conflicts_check CHECK ((other_id <> memory_id))
);
ALTER TABLE ONLY public.memory_conflicts FORCE ROW LEVEL SECURITY;
CREATE TABLE public.memory_gaps (
    group_id text NOT NULL,
    memory_id uuid NOT NULL,
    withdrawn_at timestamp with time zone NOT NULL,
    restored_at timestamp with time zone NOT NULL,
    CONSTRAINT memory_gaps_check CHECK ((withdrawn_at <= restored_at))
);
ALTER TABLE ONLY public.memory_gaps FORCE ROW LEVEL SECURITY;
CREATE TABLE public.memory_uses (
    group_id text NOT NULL,
    memory_id uuid NOT NULL,
    first_used_at timestamp with time zone NOT NULL,
    last_used_at timestamp with time zone NOT NULL,
    days integer DEFAULT 1 NOT NULL
);
ALTER TABLE ONLY public.memory_uses FORCE ROW LEVEL SECURITY;
CREATE TABLE public.quarantine_vectors (
    group_id text NOT NULL,
    log_id uuid NOT NULL,
    model text NOT NULL,
    embedding public.halfvec NOT NULL
);
ALTER TABLE ONLY public.quarantine_vectors ALTER COLUMN embedding SET STORAGE MAIN;
ALTER TABLE ONLY public.quarantine_vectors FORCE ROW LEVEL SECURITY;
CREATE TABLE public.reembeddings (
    id integer NOT NULL,
    from_model text NOT NULL,
    from_choice jsonb NOT NULL,
    to_model text NOT NULL,
    to_choice jsonb NOT NULL,
    started_by text NOT NULL,
    started_at timestamp with time zone NOT NULL,
    moving_at timestamp with time zone,
    finished_at timestamp with time zone,
    CONSTRAINT reembeddings_check CHECK ((from_model <> to_model))
);
ALTER TABLE public.reembeddings ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.reembeddings_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.schema_migrations (
    version integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.segmentations (
    group_id text NOT NULL,
    log_id uuid NOT NULL,
    version smallint DEFAULT 0 NOT NULL,
    model text DEFAULT ''::text NOT NULL,
    segmenter text DEFAULT 'rules'::text NOT NULL,
    problem text,
    attempts smallint DEFAULT 0 NOT NULL,
    due_at timestamp with time zone
);
ALTER TABLE ONLY public.segmentations FORCE ROW LEVEL SECURITY;
CREATE TABLE public.sightings (
    group_id text NOT NULL,
    entry_id uuid NOT NULL,
    log_id uuid NOT NULL,
    layer text NOT NULL,
    agent_id text,
    session_id text,
    at timestamp with time zone NOT NULL,
    CONSTRAINT sightings_layer_check CHECK ((layer = ANY (ARRAY['working'::text, 'longterm'::text])))
);
ALTER TABLE ONLY public.sightings FORCE ROW LEVEL SECURITY;
CREATE TABLE public.statements (
    group_id text NOT NULL,
    log_id uuid NOT NULL,
    number integer NOT NULL,
    span_start integer NOT NULL,
    span_end integer NOT NULL,
    kind text NOT NULL,
    headings text[] DEFAULT '{}'::text[] NOT NULL,
    lead_in text DEFAULT ''::text NOT NULL,
    model text,
    embedding public.halfvec,
    CONSTRAINT statements_check CHECK ((span_end > span_start)),
    CONSTRAINT statements_check1 CHECK (((model IS NULL) = (embedding IS NULL))),
    CONSTRAINT statements_number_check CHECK ((number >= 0)),
    CONSTRAINT statements_span_start_check CHECK ((span_start >= 0))
);
ALTER TABLE ONLY public.statements ALTER COLUMN embedding SET STORAGE MAIN;
ALTER TABLE ONLY public.statements FORCE ROW LEVEL SECURITY;
CREATE TABLE public.tombstones (
    group_id text NOT NULL,
    id uuid NOT NULL,
    value_hash bytea NOT NULL,
    kind text NOT NULL,
    reason text NOT NULL,
    model text,
    embedding public.halfvec,
    made_by text NOT NULL,
    made_at timestamp with time zone NOT NULL,
    lifted_by text,
    lifted_at timestamp with time zone,
    CONSTRAINT tombstones_check CHECK (((kind = 'rejected'::text) OR ((embedding IS NULL) AND (lifted_at IS NULL)))),
    CONSTRAINT tombstones_check1 CHECK (((lifted_at IS NULL) = (lifted_by IS NULL))),
    CONSTRAINT tombstones_kind_check CHECK ((kind = ANY (ARRAY['rejected'::text, 'forgotten'::text])))
);
ALTER TABLE ONLY public.tombstones FORCE ROW LEVEL SECURITY;
CREATE TABLE public.working_groups (
    group_id text NOT NULL,
    last_admitted_at timestamp with time zone,
    first_settled_at timestamp with time zone
);
ALTER TABLE ONLY public.working_groups FORCE ROW LEVEL SECURITY;
ALTER TABLE ONLY public.admissions
    ADD CONSTRAINT admissions_pkey PRIMARY KEY (group_id, log_id);
ALTER TABLE ONLY public.agents
    ADD CONSTRAINT agents_pkey PRIMARY KEY (group_id, agent_id);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_secret_hash_key UNIQUE (secret_hash);
ALTER TABLE ONLY public.audit_events
    ADD CONSTRAINT audit_events_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.audit_pending
    ADD CONSTRAINT audit_pending_pkey PRIMARY KEY (group_id, event_id);
ALTER TABLE ONLY public.audit_seals
    ADD CONSTRAINT audit_seals_pkey PRIMARY KEY (group_id, number);
ALTER TABLE ONLY public.console_sessions
    ADD CONSTRAINT console_sessions_pkey PRIMARY KEY (token_hash);
ALTER TABLE ONLY public.decisions
    ADD CONSTRAINT decisions_pkey PRIMARY KEY (group_id, id);
ALTER TABLE ONLY public.digest_marks
    ADD CONSTRAINT digest_marks_pkey PRIMARY KEY (group_id, log_id);
ALTER TABLE ONLY public.digests
    ADD CONSTRAINT digests_pkey PRIMARY KEY (group_id, id);
ALTER TABLE ONLY public.embedding_models
    ADD CONSTRAINT embedding_models_pkey PRIMARY KEY (model);
ALTER TABLE ONLY public.forgets
    ADD CONSTRAINT forgets_pkey PRIMARY KEY (group_id, id);
ALTER TABLE ONLY public.group_authors
    ADD CONSTRAINT group_authors_pkey PRIMARY KEY (group_id, author, reader);
ALTER TABLE ONLY public.group_indexes
    ADD CONSTRAINT group_indexes_pkey PRIMARY KEY (group_id, model);
ALTER TABLE ONLY public.group_secrets
    ADD CONSTRAINT group_secrets_pkey PRIMARY KEY (group_id);
ALTER TABLE ONLY public.group_terms
    ADD CONSTRAINT group_terms_pkey PRIMARY KEY (group_id, dimension, reader);
ALTER TABLE ONLY public.groups
    ADD CONSTRAINT groups_pkey PRIMARY KEY (group_id);
ALTER TABLE ONLY public.idempotency
    ADD CONSTRAINT idempotency_pkey PRIMARY KEY (principal, route, key);
ALTER TABLE ONLY public.imports
    ADD CONSTRAINT imports_pkey PRIMARY KEY (group_id, id);
ALTER TABLE ONLY public.indexed_groups
    ADD CONSTRAINT indexed_groups_pkey PRIMARY KEY (group_id);
ALTER TABLE ONLY public.ingress_counts
    ADD CONSTRAINT ingress_counts_pkey PRIMARY KEY (group_id, agent_id, "check", outcome);
ALTER TABLE ONLY public.ingress_days
    ADD CONSTRAINT ingress_days_pkey PRIMARY KEY (group_id, day, "check");
ALTER TABLE ONLY public.ingress_verdicts
    ADD CONSTRAINT ingress_verdicts_pkey PRIMARY KEY (group_id, log_id, at, "position");
ALTER TABLE ONLY public.insight_sources
    ADD CONSTRAINT insight_sources_pkey PRIMARY KEY (group_id, insight_id, log_id);
ALTER TABLE ONLY public.insights
    ADD CONSTRAINT insights_pkey PRIMARY KEY (group_id, id);
ALTER TABLE ONLY public.memories
    ADD CONSTRAINT memories_pkey PRIMARY KEY (group_id, id, chunk_no);
ALTER TABLE ONLY public.memory_conflicts
    ADD CONSTRAINT memory_conflicts_pkey PRIMARY KEY (group_id, memory_id, other_id);
ALTER TABLE ONLY public.memory_gaps
    ADD CONSTRAINT memory_gaps_pkey PRIMARY KEY (group_id, memory_id, withdrawn_at);
ALTER TABLE ONLY public.memory_uses
    ADD CONSTRAINT memory_uses_pkey PRIMARY KEY (group_id, memory_id);
ALTER TABLE ONLY public.promotion_work
    ADD CONSTRAINT promotion_work_pkey PRIMARY KEY (group_id, promotion_id);
ALTER TABLE ONLY public.promotions
    ADD CONSTRAINT promotions_pkey PRIMARY KEY (group_id, id);
ALTER TABLE ONLY public.quarantine_logs
    ADD CONSTRAINT quarantine_logs_pkey PRIMARY KEY (group_id, id);
ALTER TABLE ONLY public.quarantine_vectors
    ADD CONSTRAINT quarantine_vectors_pkey PRIMARY KEY (group_id, log_id, model);
ALTER TABLE ONLY public.reembeddings
    ADD CONSTRAINT reembeddings_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.segmentations
    ADD CONSTRAINT segmentations_pkey PRIMARY KEY (group_id, log_id);
ALTER TABLE ONLY public.sightings
    ADD CONSTRAINT sightings_pkey PRIMARY KEY (group_id, entry_id, log_id);
ALTER TABLE ONLY public.statements
    ADD CONSTRAINT statements_pkey PRIMARY KEY (group_id, log_id, number);
ALTER TABLE ONLY public.tombstones
    ADD CONSTRAINT tombstones_pkey PRIMARY KEY (group_id, id);
ALTER TABLE ONLY public.working_groups
    ADD CONSTRAINT working_groups_pkey PRIMARY KEY (group_id);
CREATE INDEX admissions_admitted ON public.admissions USING btree (group_id, settled_at) WHERE (state = 'admitted'::text);
CREATE INDEX admissions_pending ON public.admissions USING btree (next_try_at) WHERE (state = 'pending'::text);
CREATE INDEX audit_events_group ON public.audit_events USING btree (group_id, id);
CREATE INDEX console_sessions_expiry ON public.console_sessions USING btree (expires_at);
CREATE INDEX decisions_id ON public.decisions USING btree (id);
CREATE INDEX decisions_insight ON public.decisions USING btree (group_id, insight_id) WHERE (insight_id IS NOT NULL);
CREATE INDEX decisions_memory ON public.decisions USING btree (group_id, memory_id) WHERE (memory_id IS NOT NULL);
CREATE INDEX decisions_origin ON public.decisions USING btree (group_id, origin_id) WHERE (origin_id IS NOT NULL);
CREATE INDEX decisions_others ON public.decisions USING gin (others);
CREATE INDEX decisions_supersedes ON public.decisions USING btree (group_id, supersedes) WHERE (supersedes IS NOT NULL);
CREATE INDEX decisions_tombstone ON public.decisions USING btree (group_id, tombstone_id) WHERE (tombstone_id IS NOT NULL);
CREATE UNIQUE INDEX decisions_undone ON public.decisions USING btree (group_id, undoes) WHERE (undoes IS NOT NULL);
CREATE INDEX digests_id ON public.digests USING btree (id);
CREATE UNIQUE INDEX digests_open ON public.digests USING btree (group_id) WHERE (status = ANY (ARRAY['queued'::text, 'running'::text]));
CREATE UNIQUE INDEX digests_tick ON public.digests USING btree (group_id, due_at) WHERE (due_at IS NOT NULL);
CREATE INDEX forgets_unfinished ON public.forgets USING btree (erased_at) WHERE (finished_at IS NULL);
CREATE INDEX group_sizes ON public.group_terms USING btree (group_id, chunks) WHERE (dimension = 0);
CREATE INDEX idempotency_expiry ON public.idempotency USING btree (expires_at);
CREATE INDEX indexed_groups_version ON public.indexed_groups USING btree (tokenizer_version, group_id);
CREATE INDEX insight_sources_log ON public.insight_sources USING btree (group_id, log_id);
CREATE INDEX insights_digest ON public.insights USING btree (group_id, digest_id, "position");
CREATE INDEX insights_id ON public.insights USING btree (id);
CREATE INDEX insights_open ON public.insights USING btree (group_id, id) WHERE (state = ANY (ARRAY['pending'::text, 'snoozed'::text]));
CREATE INDEX memories_promotion ON public.memories USING btree (group_id, promotion_id);
CREATE INDEX memories_session ON public.memories USING btree (group_id, session_id, "position") WHERE (session_id IS NOT NULL);
CREATE INDEX promotion_work_due ON public.promotion_work USING btree (next_try_at);
CREATE INDEX promotions_fingerprint ON public.promotions USING btree (group_id, fingerprint) WHERE (fingerprint IS NOT NULL);
CREATE INDEX promotions_memory ON public.promotions USING btree (memory_id);
CREATE INDEX promotions_origin ON public.promotions USING btree (group_id, origin_id) WHERE (origin_id IS NOT NULL);
CREATE INDEX quarantine_logs_agent ON public.quarantine_logs USING btree (group_id, agent_id, created_at, id) WHERE (agent_id IS NOT NULL);
CREATE UNIQUE INDEX quarantine_logs_request ON public.quarantine_logs USING btree (group_id, captured_by, idempotency_key) WHERE (idempotency_key IS NOT NULL);
CREATE INDEX quarantine_logs_session ON public.quarantine_logs USING btree (group_id, session_id, created_at, id) WHERE (session_id IS NOT NULL);
CREATE INDEX quarantine_logs_time ON public.quarantine_logs USING btree (group_id, created_at, id);
CREATE UNIQUE INDEX reembeddings_open ON public.reembeddings USING btree ((true)) WHERE (finished_at IS NULL);
CREATE INDEX segmentations_due ON public.segmentations USING btree (due_at) WHERE (due_at IS NOT NULL);
CREATE INDEX segmentations_made ON public.segmentations USING btree (version, model);
CREATE INDEX segmentations_of_models ON public.segmentations USING btree (segmenter) WHERE (segmenter <> 'rules'::text);
CREATE INDEX sightings_log ON public.sightings USING btree (group_id, log_id);
CREATE UNIQUE INDEX tombstones_standing ON public.tombstones USING btree (group_id, value_hash) WHERE (lifted_at IS NULL);
ALTER TABLE ONLY public.console_sessions
    ADD CONSTRAINT console_sessions_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.api_keys(id);
ALTER TABLE ONLY public.decisions
    ADD CONSTRAINT decisions_group_id_insight_id_fkey FOREIGN KEY (group_id, insight_id) REFERENCES public.insights(group_id, id);
ALTER TABLE ONLY public.decisions
    ADD CONSTRAINT decisions_group_id_promotion_id_fkey FOREIGN KEY (group_id, promotion_id) REFERENCES public.promotions(group_id, id);
ALTER TABLE ONLY public.decisions
    ADD CONSTRAINT decisions_group_id_undoes_fkey FOREIGN KEY (group_id, undoes) REFERENCES public.decisions(group_id, id);
ALTER TABLE ONLY public.digest_marks
    ADD CONSTRAINT digest_marks_group_id_log_id_fkey FOREIGN KEY (group_id, log_id) REFERENCES public.quarantine_logs(group_id, id);
ALTER TABLE ONLY public.ingress_verdicts
    ADD CONSTRAINT ingress_verdicts_group_id_log_id_fkey FOREIGN KEY (group_id, log_id) REFERENCES public.quarantine_logs(group_id, id);
ALTER TABLE ONLY public.insight_sources
    ADD CONSTRAINT insight_sources_group_id_insight_id_fkey FOREIGN KEY (group_id, insight_id) REFERENCES public.insights(group_id, id);
ALTER TABLE ONLY public.insight_sources
    ADD CONSTRAINT insight_sources_group_id_log_id_fkey FOREIGN KEY (group_id, log_id) REFERENCES public.quarantine_logs(group_id, id);
ALTER TABLE ONLY public.insights
    ADD CONSTRAINT insights_group_id_digest_id_fkey FOREIGN KEY (group_id, digest_id) REFERENCES public.digests(group_id, id);
ALTER TABLE ONLY public.memories
    ADD CONSTRAINT memories_group_id_promotion_id_fkey FOREIGN KEY (group_id, promotion_id) REFERENCES public.promotions(group_id, id);
ALTER TABLE ONLY public.promotion_work
    ADD CONSTRAINT promotion_work_group_id_promotion_id_fkey FOREIGN KEY (group_id, promotion_id) REFERENCES public.promotions(group_id, id);
ALTER TABLE ONLY public.quarantine_vectors
    ADD CONSTRAINT quarantine_vectors_group_id_log_id_fkey FOREIGN KEY (group_id, log_id) REFERENCES public.quarantine_logs(group_id, id);
ALTER TABLE ONLY public.segmentations
    ADD CONSTRAINT segmentations_group_id_log_id_fkey FOREIGN KEY (group_id, log_id) REFERENCES public.quarantine_logs(group_id, id);
ALTER TABLE ONLY public.sightings
    ADD CONSTRAINT sightings_group_id_log_id_fkey FOREIGN KEY (group_id, log_id) REFERENCES public.quarantine_logs(group_id, id);
ALTER TABLE ONLY public.statements
    ADD CONSTRAINT statements_group_id_log_id_fkey FOREIGN KEY (group_id, log_id) REFERENCES public.quarantine_logs(group_id, id);
ALTER TABLE public.admissions ENABLE ROW LEVEL SECURITY;
CREATE POLICY agent_captures_pending ON public.admissions AS RESTRICTIVE FOR INSERT TO clearwell_agent WITH CHECK (((state = 'pending'::text) OR (group_id = 'unassigned'::text)));
CREATE POLICY agent_gives_no_verdict ON public.ingress_verdicts AS RESTRICTIVE FOR INSERT TO clearwell_agent WITH CHECK ((group_id = 'unassigned'::text));
CREATE POLICY agent_leases_nothing ON public.admissions AS RESTRICTIVE FOR INSERT TO clearwell_agent WITH CHECK ((leased_by IS NULL));
ALTER TABLE public.agents ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.audit_events ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.audit_pending ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.audit_seals ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.decisions ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.digest_marks ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.digests ENABLE ROW LEVEL SECURITY;
CREATE POLICY eraser_finds_forgets ON public.forgets FOR SELECT TO clearwell_eraser USING (true);
CREATE POLICY finder_finds_places ON public.memories FOR SELECT TO clearwell_finder USING (true);
ALTER TABLE public.forgets ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.group_authors ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.group_indexes ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.group_secrets ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.group_terms ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.groups ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.imports ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.indexed_groups ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.ingress_counts ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.ingress_days ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.ingress_verdicts ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.insight_sources ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.insights ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.memories ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.memory_conflicts ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.memory_gaps ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.memory_uses ENABLE ROW LEVEL SECURITY;
CREATE POLICY operator_events ON public.audit_events FOR INSERT TO clearwell_operator WITH CHECK ((group_id = ''::text));
CREATE POLICY operator_finds_group ON public.decisions FOR SELECT TO clearwell_operator USING (true);
CREATE POLICY operator_finds_group ON public.insights FOR SELECT TO clearwell_operator USING (true);
CREATE POLICY operator_finds_group ON public.promotions FOR SELECT TO clearwell_operator USING (true);
CREATE POLICY operator_finds_group ON public.quarantine_logs FOR SELECT TO clearwell_operator USING (true);
CREATE POLICY operator_lists_groups ON public.groups FOR SELECT TO clearwell_operator USING (true);
CREATE POLICY operator_reads ON public.audit_events FOR SELECT TO clearwell_operator USING ((group_id = ''::text));
CREATE POLICY operator_reads ON public.audit_seals FOR SELECT TO clearwell_operator USING ((group_id = ''::text));
CREATE POLICY operator_waits ON public.audit_pending FOR INSERT TO clearwell_operator WITH CHECK ((group_id = ''::text));
CREATE POLICY own_group ON public.admissions USING ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text))) WITH CHECK ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)));
CREATE POLICY own_group ON public.agents USING ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text))) WITH CHECK ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)));
CREATE POLICY own_group ON public.audit_events USING ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text))) WITH CHECK ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)));
CREATE POLICY own_group ON public.audit_pending USING ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text))) WITH CHECK ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)));
CREATE POLICY own_group ON public.audit_seals USING ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text))) WITH CHECK ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)));
CREATE POLICY own_group ON public.decisions USING ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text))) WITH CHECK ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)));
CREATE POLICY own_group ON public.digest_marks USING ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text))) WITH CHECK ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)));
CREATE POLICY own_group ON public.digests USING ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text))) WITH CHECK ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)));
CREATE POLICY own_group ON public.forgets USING ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text))) WITH CHECK ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)));
CREATE POLICY own_group ON public.group_authors USING ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text))) WITH CHECK ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)));
CREATE POLICY own_group ON public.group_indexes USING ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text))) WITH CHECK ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)));
CREATE POLICY own_group ON public.group_secrets USING ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text))) WITH CHECK ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)));
CREATE POLICY own_group ON public.group_terms USING ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text))) WITH CHECK ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)));
CREATE POLICY own_group ON public.groups USING ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text))) WITH CHECK ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)));
CREATE POLICY own_group ON public.imports USING ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text))) WITH CHECK ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)));
CREATE POLICY own_group ON public.indexed_groups USING ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text))) WITH CHECK ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)));
CREATE POLICY own_group ON public.ingress_counts USING ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text))) WITH CHECK ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)));
CREATE POLICY own_group ON public.ingress_days USING ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text))) WITH CHECK ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)));
CREATE POLICY own_group ON public.ingress_verdicts USING ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text))) WITH CHECK ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)));
CREATE POLICY own_group ON public.insight_sources USING ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text))) WITH CHECK ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)));
CREATE POLICY own_group ON public.insights USING ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text))) WITH CHECK ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)));
CREATE POLICY own_group ON public.memories USING ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text))) WITH CHECK ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)));
CREATE POLICY own_group ON public.memory_conflicts USING ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text))) WITH CHECK ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)));
CREATE POLICY own_group ON public.memory_gaps USING ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text))) WITH CHECK ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)));
CREATE POLICY own_group ON public.memory_uses USING ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text))) WITH CHECK ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)));
CREATE POLICY own_group ON public.promotion_work USING ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text))) WITH CHECK ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)));
CREATE POLICY own_group ON public.promotions USING ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text))) WITH CHECK ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)));
CREATE POLICY own_group ON public.quarantine_logs USING ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text))) WITH CHECK ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)));
CREATE POLICY own_group ON public.quarantine_vectors USING ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text))) WITH CHECK ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)));
CREATE POLICY own_group ON public.segmentations USING ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text))) WITH CHECK ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)));
CREATE POLICY own_group ON public.sightings USING ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text))) WITH CHECK ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)));
CREATE POLICY own_group ON public.statements USING ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text))) WITH CHECK ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)));
CREATE POLICY own_group ON public.tombstones USING ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text))) WITH CHECK ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)));
CREATE POLICY own_group ON public.working_groups USING ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text))) WITH CHECK ((group_id = NULLIF(current_setting('clearwell.group'::text, true), ''::text)));
ALTER TABLE public.promotion_work ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.promotions ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.quarantine_logs ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.quarantine_vectors ENABLE ROW LEVEL SECURITY;
CREATE POLICY reviewer_finds_digest ON public.digests FOR SELECT TO clearwell_reviewer USING ((id = (NULLIF(current_setting('clearwell.digest'::text, true), ''::text))::uuid));
ALTER TABLE public.segmentations ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.sightings ENABLE ROW LEVEL SECURITY;
CREATE POLICY sources_of_a_digest_stay ON public.insight_sources AS RESTRICTIVE FOR DELETE TO clearwell_reviewer USING ((merged_from IS NOT NULL));
ALTER TABLE public.statements ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.tombstones ENABLE ROW LEVEL SECURITY;
CREATE POLICY worker_decides_nothing ON public.insights AS RESTRICTIVE FOR INSERT TO clearwell_worker WITH CHECK ((state = 'pending'::text));
CREATE POLICY worker_finds_digests ON public.digests FOR SELECT TO clearwell_worker USING ((status = ANY (ARRAY['queued'::text, 'running'::text])));
CREATE POLICY worker_finds_events ON public.audit_pending TO clearwell_worker USING (true) WITH CHECK (true);
CREATE POLICY worker_finds_groups ON public.group_terms FOR SELECT TO clearwell_worker USING ((dimension = 0));
CREATE POLICY worker_finds_groups ON public.indexed_groups FOR SELECT TO clearwell_worker USING (true);
CREATE POLICY worker_finds_groups ON public.working_groups FOR SELECT TO clearwell_worker USING (true);
CREATE POLICY worker_finds_promotions ON public.promotion_work FOR SELECT TO clearwell_worker USING (true);
CREATE POLICY worker_finds_schedules ON public.groups FOR SELECT TO clearwell_worker USING (true);
CREATE POLICY worker_finds_segmentations ON public.segmentations FOR SELECT TO clearwell_worker USING (true);
CREATE POLICY worker_finds_work ON public.admissions FOR SELECT TO clearwell_worker USING ((state = 'pending'::text));
CREATE POLICY worker_keeps_indexes ON public.group_indexes TO clearwell_worker USING (true) WITH CHECK (true);
CREATE POLICY worker_only_merges ON public.insights AS RESTRICTIVE FOR UPDATE TO clearwell_worker USING ((state = ANY (ARRAY['pending'::text, 'snoozed'::text]))) WITH CHECK (((state = 'merged'::text) AND (merged_into IS NOT NULL)));
CREATE POLICY worker_reads ON public.audit_events FOR SELECT TO clearwell_worker USING ((group_id = ''::text));
CREATE POLICY worker_seals ON public.audit_seals TO clearwell_worker USING ((group_id = ''::text)) WITH CHECK ((group_id = ''::text));
CREATE POLICY worker_writes_what_waits ON public.memories AS RESTRICTIVE FOR INSERT TO clearwell_worker WITH CHECK ((EXISTS ( SELECT
   FROM public.promotion_work w
  WHERE ((w.group_id = memories.group_id) AND (w.promotion_id = memories.promotion_id)))));
ALTER TABLE public.working_groups ENABLE ROW LEVEL SECURITY;
GRANT USAGE ON SCHEMA public TO clearwell_app;
GRANT USAGE ON SCHEMA public TO clearwell_agent;
GRANT USAGE ON SCHEMA public TO clearwell_reviewer;
GRANT USAGE ON SCHEMA public TO clearwell_worker;
GRANT USAGE ON SCHEMA public TO clearwell_eraser;
GRANT USAGE ON SCHEMA public TO clearwell_operator;
GRANT USAGE ON SCHEMA public TO clearwell_finder;
GRANT USAGE ON SCHEMA public TO clearwell_archivist;
REVOKE ALL ON FUNCTION pg_catalog.lo_close(integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_catalog.lo_creat(integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_catalog.lo_create(oid) FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_catalog.lo_from_bytea(oid, bytea) FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_catalog.lo_get(oid) FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_catalog.lo_get(oid, bigint, integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_catalog.lo_lseek(integer, integer, integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_catalog.lo_lseek64(integer, bigint, integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_catalog.lo_open(oid, integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_catalog.lo_put(oid, bigint, bytea) FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_catalog.lo_tell(integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_catalog.lo_tell64(integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_catalog.lo_truncate(integer, integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_catalog.lo_truncate64(integer, bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_catalog.lo_unlink(oid) FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_catalog.loread(integer, integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_catalog.lowrite(integer, bytea) FROM PUBLIC;
GRANT SELECT ON TABLE public.agents TO clearwell_agent;
GRANT SELECT ON TABLE public.agents TO clearwell_reviewer;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.agents TO clearwell_operator;
GRANT SELECT,DELETE ON TABLE public.agents TO clearwell_eraser;
GRANT SELECT,INSERT ON TABLE public.agents TO clearwell_archivist;
GRANT SELECT,INSERT ON TABLE public.api_keys TO clearwell_operator;
GRANT UPDATE(revoked_at) ON TABLE public.api_keys TO clearwell_operator;
REVOKE ALL ON FUNCTION public.clearwell_agent_names(wanted text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.clearwell_agent_names(wanted text) TO clearwell_agent;
GRANT ALL ON FUNCTION public.clearwell_agent_names(wanted text) TO clearwell_reviewer;
GRANT INSERT ON TABLE public.ingress_verdicts TO clearwell_agent;
GRANT SELECT ON TABLE public.ingress_verdicts TO clearwell_reviewer;
GRANT SELECT,INSERT ON TABLE public.ingress_verdicts TO clearwell_worker;
GRANT SELECT,DELETE ON TABLE public.ingress_verdicts TO clearwell_eraser;
GRANT SELECT,INSERT ON TABLE public.ingress_verdicts TO clearwell_archivist;
GRANT UPDATE(value) ON TABLE public.ingress_verdicts TO clearwell_eraser;
GRANT UPDATE(reason) ON TABLE public.ingress_verdicts TO clearwell_eraser;
GRANT UPDATE(params) ON TABLE public.ingress_verdicts TO clearwell_eraser;
GRANT INSERT ON TABLE public.quarantine_logs TO clearwell_agent;
GRANT SELECT ON TABLE public.quarantine_logs TO clearwell_reviewer;
GRANT SELECT ON TABLE public.quarantine_logs TO clearwell_worker;
GRANT SELECT,DELETE ON TABLE public.quarantine_logs TO clearwell_eraser;
GRANT SELECT,INSERT ON TABLE public.quarantine_logs TO clearwell_archivist;
GRANT SELECT(group_id) ON TABLE public.quarantine_logs TO clearwell_agent;
GRANT SELECT(group_id) ON TABLE public.quarantine_logs TO clearwell_operator;
GRANT SELECT(id) ON TABLE public.quarantine_logs TO clearwell_agent;
GRANT SELECT(id) ON TABLE public.quarantine_logs TO clearwell_operator;
GRANT SELECT(captured_by) ON TABLE public.quarantine_logs TO clearwell_agent;
GRANT SELECT(idempotency_key) ON TABLE public.quarantine_logs TO clearwell_agent;
GRANT SELECT(request_hash) ON TABLE public.quarantine_logs TO clearwell_agent;
REVOKE ALL ON FUNCTION public.clearwell_empty_forgotten(emptied uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION public.clearwell_empty_forgotten(emptied uuid) TO clearwell_worker;
REVOKE ALL ON FUNCTION public.clearwell_find_key(hash bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION public.clearwell_find_key(hash bytea) TO clearwell_app;
GRANT SELECT,INSERT,DELETE ON TABLE public.console_sessions TO clearwell_operator;
REVOKE ALL ON FUNCTION public.clearwell_find_session(hash bytea, at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION public.clearwell_find_session(hash bytea, at timestamp with time zone) TO clearwell_app;
REVOKE ALL ON PROCEDURE public.clearwell_guard(IN path_table regclass) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.clearwell_has_revoked(held uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.clearwell_has_revoked(held uuid[]) TO clearwell_reviewer;
REVOKE ALL ON FUNCTION public.clearwell_is_split(content text, chunks text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.clearwell_is_split(content text, chunks text[]) TO clearwell_reviewer;
GRANT ALL ON FUNCTION public.clearwell_is_split(content text, chunks text[]) TO clearwell_eraser;
GRANT SELECT,INSERT ON TABLE public.decisions TO clearwell_reviewer;
GRANT SELECT ON TABLE public.decisions TO clearwell_worker;
GRANT SELECT ON TABLE public.decisions TO clearwell_eraser;
GRANT SELECT,INSERT ON TABLE public.decisions TO clearwell_archivist;
GRANT SELECT(group_id) ON TABLE public.decisions TO clearwell_operator;
GRANT SELECT(group_id) ON TABLE public.decisions TO clearwell_agent;
GRANT SELECT(id) ON TABLE public.decisions TO clearwell_operator;
GRANT SELECT(id) ON TABLE public.decisions TO clearwell_agent;
GRANT SELECT(action) ON TABLE public.decisions TO clearwell_agent;
GRANT SELECT(insight_id) ON TABLE public.decisions TO clearwell_agent;
GRANT SELECT(memory_id) ON TABLE public.decisions TO clearwell_agent;
GRANT SELECT(undoes) ON TABLE public.decisions TO clearwell_agent;
GRANT UPDATE(reason) ON TABLE public.decisions TO clearwell_eraser;
GRANT UPDATE(text_before) ON TABLE public.decisions TO clearwell_eraser;
GRANT UPDATE(text_after) ON TABLE public.decisions TO clearwell_eraser;
GRANT UPDATE(before) ON TABLE public.decisions TO clearwell_eraser;
GRANT SELECT(side_sources) ON TABLE public.decisions TO clearwell_agent;
REVOKE ALL ON FUNCTION public.clearwell_is_superseded(superseded uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION public.clearwell_is_superseded(superseded uuid) TO clearwell_agent;
GRANT ALL ON FUNCTION public.clearwell_is_superseded(superseded uuid) TO clearwell_reviewer;
GRANT ALL ON FUNCTION public.clearwell_is_superseded(superseded uuid) TO clearwell_worker;
GRANT SELECT ON TABLE public.memories TO clearwell_agent;
GRANT SELECT,INSERT ON TABLE public.memories TO clearwell_reviewer;
GRANT SELECT,INSERT ON TABLE public.memories TO clearwell_worker;
GRANT SELECT,DELETE ON TABLE public.memories TO clearwell_eraser;
GRANT SELECT,INSERT ON TABLE public.memories TO clearwell_archivist;
GRANT SELECT(ctid) ON TABLE public.memories TO clearwell_finder;
GRANT SELECT(group_id) ON TABLE public.memories TO clearwell_finder;
GRANT UPDATE(embedding) ON TABLE public.memories TO clearwell_worker;
GRANT UPDATE(embedding_model) ON TABLE public.memories TO clearwell_worker;
GRANT UPDATE(valid_to) ON TABLE public.memories TO clearwell_reviewer;
GRANT UPDATE("position") ON TABLE public.memories TO clearwell_reviewer;
GRANT UPDATE("position") ON TABLE public.memories TO clearwell_worker;
GRANT UPDATE("position") ON TABLE public.memories TO clearwell_eraser;
GRANT UPDATE("position") ON TABLE public.memories TO clearwell_archivist;
GRANT UPDATE(lexemes) ON TABLE public.memories TO clearwell_reviewer;
GRANT UPDATE(lexemes) ON TABLE public.memories TO clearwell_worker;
GRANT UPDATE(lexemes) ON TABLE public.memories TO clearwell_eraser;
GRANT SELECT(lexemes) ON TABLE public.memories TO clearwell_finder;
GRANT UPDATE(lexemes) ON TABLE public.memories TO clearwell_archivist;
GRANT UPDATE(tokenizer_version) ON TABLE public.memories TO clearwell_reviewer;
GRANT UPDATE(tokenizer_version) ON TABLE public.memories TO clearwell_worker;
GRANT UPDATE(tokenizer_version) ON TABLE public.memories TO clearwell_eraser;
GRANT UPDATE(tokenizer_version) ON TABLE public.memories TO clearwell_archivist;
GRANT UPDATE(disputed) ON TABLE public.memories TO clearwell_worker;
GRANT UPDATE(disputed) ON TABLE public.memories TO clearwell_reviewer;
GRANT UPDATE(disputed) ON TABLE public.memories TO clearwell_archivist;
GRANT SELECT,INSERT,DELETE ON TABLE public.promotion_work TO clearwell_reviewer;
GRANT SELECT,DELETE ON TABLE public.promotion_work TO clearwell_worker;
GRANT SELECT,DELETE ON TABLE public.promotion_work TO clearwell_eraser;
GRANT SELECT,INSERT ON TABLE public.promotion_work TO clearwell_archivist;
GRANT UPDATE(attempts) ON TABLE public.promotion_work TO clearwell_worker;
GRANT UPDATE(next_try_at) ON TABLE public.promotion_work TO clearwell_worker;
GRANT UPDATE(next_try_at) ON TABLE public.promotion_work TO clearwell_reviewer;
GRANT UPDATE(problem) ON TABLE public.promotion_work TO clearwell_worker;
GRANT SELECT,INSERT ON TABLE public.promotions TO clearwell_reviewer;
GRANT SELECT ON TABLE public.promotions TO clearwell_worker;
GRANT SELECT ON TABLE public.promotions TO clearwell_eraser;
GRANT SELECT,INSERT ON TABLE public.promotions TO clearwell_archivist;
GRANT SELECT(group_id) ON TABLE public.promotions TO clearwell_operator;
GRANT SELECT(group_id) ON TABLE public.promotions TO clearwell_agent;
GRANT SELECT(id) ON TABLE public.promotions TO clearwell_agent;
GRANT SELECT(memory_id) ON TABLE public.promotions TO clearwell_operator;
GRANT SELECT(origin_id) ON TABLE public.promotions TO clearwell_agent;
GRANT UPDATE(content) ON TABLE public.promotions TO clearwell_eraser;
GRANT UPDATE(session_id) ON TABLE public.promotions TO clearwell_eraser;
GRANT UPDATE(author) ON TABLE public.promotions TO clearwell_eraser;
GRANT UPDATE(metadata) ON TABLE public.promotions TO clearwell_eraser;
GRANT UPDATE(fingerprint) ON TABLE public.promotions TO clearwell_eraser;
REVOKE ALL ON FUNCTION public.clearwell_supersede(waiting uuid, at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION public.clearwell_supersede(waiting uuid, at timestamp with time zone) TO clearwell_worker;
REVOKE ALL ON FUNCTION public.clearwell_worded(terms integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.clearwell_worded(terms integer[]) TO clearwell_agent;
GRANT ALL ON FUNCTION public.clearwell_worded(terms integer[]) TO clearwell_reviewer;
GRANT ALL ON FUNCTION public.clearwell_worded(terms integer[]) TO clearwell_worker;
GRANT INSERT ON TABLE public.admissions TO clearwell_agent;
GRANT SELECT ON TABLE public.admissions TO clearwell_reviewer;
GRANT SELECT ON TABLE public.admissions TO clearwell_worker;
GRANT SELECT,DELETE ON TABLE public.admissions TO clearwell_eraser;
GRANT SELECT,INSERT ON TABLE public.admissions TO clearwell_archivist;
GRANT UPDATE(state) ON TABLE public.admissions TO clearwell_worker;
GRANT UPDATE(attempts) ON TABLE public.admissions TO clearwell_worker;
GRANT UPDATE(next_try_at) ON TABLE public.admissions TO clearwell_worker;
GRANT UPDATE(settled_at) ON TABLE public.admissions TO clearwell_worker;
GRANT UPDATE(flags) ON TABLE public.admissions TO clearwell_worker;
GRANT UPDATE(removed_at) ON TABLE public.admissions TO clearwell_reviewer;
GRANT UPDATE(removed_by) ON TABLE public.admissions TO clearwell_reviewer;
GRANT UPDATE(judge_tries) ON TABLE public.admissions TO clearwell_worker;
GRANT UPDATE(failures) ON TABLE public.admissions TO clearwell_worker;
GRANT UPDATE(leased_by) ON TABLE public.admissions TO clearwell_worker;
GRANT UPDATE(leased_until) ON TABLE public.admissions TO clearwell_worker;
GRANT SELECT,INSERT ON TABLE public.audit_events TO clearwell_reviewer;
GRANT SELECT,INSERT ON TABLE public.audit_events TO clearwell_worker;
GRANT SELECT,INSERT ON TABLE public.audit_events TO clearwell_operator;
GRANT INSERT ON TABLE public.audit_events TO clearwell_eraser;
GRANT INSERT ON TABLE public.audit_events TO clearwell_archivist;
GRANT INSERT ON TABLE public.audit_pending TO clearwell_reviewer;
GRANT SELECT,INSERT,DELETE ON TABLE public.audit_pending TO clearwell_worker;
GRANT INSERT ON TABLE public.audit_pending TO clearwell_operator;
GRANT INSERT ON TABLE public.audit_pending TO clearwell_eraser;
GRANT INSERT ON TABLE public.audit_pending TO clearwell_archivist;
GRANT SELECT ON TABLE public.audit_seals TO clearwell_reviewer;
GRANT SELECT ON TABLE public.audit_seals TO clearwell_operator;
GRANT SELECT,INSERT ON TABLE public.audit_seals TO clearwell_worker;
GRANT SELECT,INSERT ON TABLE public.digest_marks TO clearwell_worker;
GRANT SELECT,INSERT ON TABLE public.digest_marks TO clearwell_reviewer;
GRANT SELECT,DELETE ON TABLE public.digest_marks TO clearwell_eraser;
GRANT SELECT,INSERT ON TABLE public.digest_marks TO clearwell_archivist;
GRANT UPDATE(considered) ON TABLE public.digest_marks TO clearwell_worker;
GRANT UPDATE(judged_by) ON TABLE public.digest_marks TO clearwell_reviewer;
GRANT SELECT,INSERT ON TABLE public.digests TO clearwell_worker;
GRANT SELECT,INSERT ON TABLE public.digests TO clearwell_reviewer;
GRANT SELECT ON TABLE public.digests TO clearwell_eraser;
GRANT SELECT,INSERT ON TABLE public.digests TO clearwell_archivist;
GRANT UPDATE(status) ON TABLE public.digests TO clearwell_worker;
GRANT UPDATE(started_at) ON TABLE public.digests TO clearwell_worker;
GRANT UPDATE(finished_at) ON TABLE public.digests TO clearwell_worker;
GRANT UPDATE(attempts) ON TABLE public.digests TO clearwell_worker;
GRANT UPDATE(progress) ON TABLE public.digests TO clearwell_worker;
GRANT UPDATE(note) ON TABLE public.digests TO clearwell_worker;
GRANT UPDATE(note_params) ON TABLE public.digests TO clearwell_worker;
GRANT UPDATE(report) ON TABLE public.digests TO clearwell_worker;
GRANT UPDATE(next_try_at) ON TABLE public.digests TO clearwell_worker;
GRANT UPDATE(leased_until) ON TABLE public.digests TO clearwell_worker;
GRANT SELECT,INSERT ON TABLE public.embedding_models TO clearwell_reviewer;
GRANT SELECT,INSERT ON TABLE public.embedding_models TO clearwell_worker;
GRANT SELECT,INSERT ON TABLE public.embedding_models TO clearwell_archivist;
GRANT SELECT,INSERT ON TABLE public.forgets TO clearwell_eraser;
GRANT UPDATE(finished_at) ON TABLE public.forgets TO clearwell_eraser;
GRANT SELECT ON TABLE public.group_authors TO clearwell_agent;
GRANT SELECT,INSERT,DELETE ON TABLE public.group_authors TO clearwell_reviewer;
GRANT SELECT,INSERT,DELETE ON TABLE public.group_authors TO clearwell_worker;
GRANT SELECT,INSERT,DELETE ON TABLE public.group_authors TO clearwell_eraser;
GRANT SELECT,INSERT,DELETE ON TABLE public.group_authors TO clearwell_archivist;
GRANT UPDATE(chunks) ON TABLE public.group_authors TO clearwell_reviewer;
GRANT UPDATE(chunks) ON TABLE public.group_authors TO clearwell_worker;
GRANT UPDATE(chunks) ON TABLE public.group_authors TO clearwell_eraser;
GRANT UPDATE(chunks) ON TABLE public.group_authors TO clearwell_archivist;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.group_indexes TO clearwell_worker;
GRANT SELECT,INSERT ON TABLE public.group_secrets TO clearwell_worker;
GRANT SELECT,INSERT ON TABLE public.group_secrets TO clearwell_reviewer;
GRANT SELECT,INSERT ON TABLE public.group_secrets TO clearwell_archivist;
GRANT SELECT ON TABLE public.group_terms TO clearwell_agent;
GRANT SELECT,INSERT,DELETE ON TABLE public.group_terms TO clearwell_reviewer;
GRANT SELECT,INSERT,DELETE ON TABLE public.group_terms TO clearwell_worker;
GRANT SELECT,INSERT,DELETE ON TABLE public.group_terms TO clearwell_eraser;
GRANT SELECT,INSERT,DELETE ON TABLE public.group_terms TO clearwell_archivist;
GRANT UPDATE(chunks) ON TABLE public.group_terms TO clearwell_reviewer;
GRANT UPDATE(chunks) ON TABLE public.group_terms TO clearwell_worker;
GRANT UPDATE(chunks) ON TABLE public.group_terms TO clearwell_eraser;
GRANT UPDATE(chunks) ON TABLE public.group_terms TO clearwell_archivist;
GRANT SELECT ON TABLE public.groups TO clearwell_agent;
GRANT SELECT ON TABLE public.groups TO clearwell_reviewer;
GRANT SELECT,INSERT,UPDATE ON TABLE public.groups TO clearwell_operator;
GRANT SELECT ON TABLE public.groups TO clearwell_eraser;
GRANT SELECT,INSERT ON TABLE public.groups TO clearwell_archivist;
GRANT SELECT(group_id) ON TABLE public.groups TO clearwell_worker;
GRANT UPDATE(system_prompt) ON TABLE public.groups TO clearwell_eraser;
GRANT SELECT(digest_cron) ON TABLE public.groups TO clearwell_worker;
GRANT SELECT(digest_zone) ON TABLE public.groups TO clearwell_worker;
GRANT SELECT(scheduled_at) ON TABLE public.groups TO clearwell_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.idempotency TO clearwell_reviewer;
GRANT SELECT,DELETE ON TABLE public.idempotency TO clearwell_worker;
GRANT SELECT,DELETE ON TABLE public.idempotency TO clearwell_eraser;
GRANT SELECT,INSERT ON TABLE public.imports TO clearwell_archivist;
GRANT SELECT ON TABLE public.imports TO clearwell_reviewer;
GRANT UPDATE(next_number) ON TABLE public.imports TO clearwell_archivist;
GRANT UPDATE(root) ON TABLE public.imports TO clearwell_archivist;
GRANT UPDATE(finished_at) ON TABLE public.imports TO clearwell_archivist;
GRANT SELECT,INSERT ON TABLE public.indexed_groups TO clearwell_reviewer;
GRANT SELECT,INSERT ON TABLE public.indexed_groups TO clearwell_worker;
GRANT SELECT,INSERT ON TABLE public.indexed_groups TO clearwell_eraser;
GRANT SELECT,INSERT ON TABLE public.indexed_groups TO clearwell_archivist;
GRANT UPDATE(tokenizer_version) ON TABLE public.indexed_groups TO clearwell_worker;
GRANT UPDATE(tokenizer_version) ON TABLE public.indexed_groups TO clearwell_eraser;
GRANT UPDATE(tokenizer_version) ON TABLE public.indexed_groups TO clearwell_archivist;
GRANT SELECT,INSERT,UPDATE ON TABLE public.ingress_counts TO clearwell_worker;
GRANT SELECT ON TABLE public.ingress_counts TO clearwell_reviewer;
GRANT SELECT,DELETE ON TABLE public.ingress_counts TO clearwell_eraser;
GRANT SELECT,INSERT ON TABLE public.ingress_days TO clearwell_worker;
GRANT SELECT ON TABLE public.ingress_days TO clearwell_reviewer;
GRANT UPDATE(count) ON TABLE public.ingress_days TO clearwell_worker;
GRANT SELECT,INSERT ON TABLE public.insight_sources TO clearwell_worker;
GRANT SELECT,INSERT,DELETE ON TABLE public.insight_sources TO clearwell_reviewer;
GRANT SELECT,DELETE ON TABLE public.insight_sources TO clearwell_eraser;
GRANT SELECT,INSERT ON TABLE public.insight_sources TO clearwell_archivist;
GRANT SELECT(group_id) ON TABLE public.insight_sources TO clearwell_agent;
GRANT SELECT(insight_id) ON TABLE public.insight_sources TO clearwell_agent;
GRANT SELECT(log_id) ON TABLE public.insight_sources TO clearwell_agent;
GRANT UPDATE(statement) ON TABLE public.insight_sources TO clearwell_eraser;
GRANT SELECT(span_start) ON TABLE public.insight_sources TO clearwell_agent;
GRANT SELECT(span_end) ON TABLE public.insight_sources TO clearwell_agent;
GRANT SELECT,INSERT ON TABLE public.insights TO clearwell_worker;
GRANT SELECT,INSERT ON TABLE public.insights TO clearwell_reviewer;
GRANT SELECT,DELETE ON TABLE public.insights TO clearwell_eraser;
GRANT SELECT,INSERT ON TABLE public.insights TO clearwell_archivist;
GRANT SELECT(group_id) ON TABLE public.insights TO clearwell_operator;
GRANT SELECT(id) ON TABLE public.insights TO clearwell_operator;
GRANT UPDATE(version) ON TABLE public.insights TO clearwell_reviewer;
GRANT UPDATE(version) ON TABLE public.insights TO clearwell_eraser;
GRANT UPDATE(version) ON TABLE public.insights TO clearwell_worker;
GRANT UPDATE(state) ON TABLE public.insights TO clearwell_reviewer;
GRANT UPDATE(state) ON TABLE public.insights TO clearwell_eraser;
GRANT UPDATE(state) ON TABLE public.insights TO clearwell_worker;
GRANT UPDATE(summary) ON TABLE public.insights TO clearwell_reviewer;
GRANT UPDATE(summary) ON TABLE public.insights TO clearwell_eraser;
GRANT UPDATE(written_by) ON TABLE public.insights TO clearwell_reviewer;
GRANT UPDATE(flags) ON TABLE public.insights TO clearwell_reviewer;
GRANT UPDATE(flags) ON TABLE public.insights TO clearwell_eraser;
GRANT UPDATE(contradictions) ON TABLE public.insights TO clearwell_reviewer;
GRANT UPDATE(contradictions) ON TABLE public.insights TO clearwell_eraser;
GRANT UPDATE(support) ON TABLE public.insights TO clearwell_reviewer;
GRANT UPDATE(support) ON TABLE public.insights TO clearwell_eraser;
GRANT UPDATE(model) ON TABLE public.insights TO clearwell_reviewer;
GRANT UPDATE(model) ON TABLE public.insights TO clearwell_eraser;
GRANT UPDATE(embedding) ON TABLE public.insights TO clearwell_reviewer;
GRANT UPDATE(embedding) ON TABLE public.insights TO clearwell_eraser;
GRANT UPDATE(snoozed_until) ON TABLE public.insights TO clearwell_reviewer;
GRANT UPDATE(snoozed_until) ON TABLE public.insights TO clearwell_eraser;
GRANT UPDATE(snoozed_until) ON TABLE public.insights TO clearwell_worker;
GRANT UPDATE(merged_into) ON TABLE public.insights TO clearwell_reviewer;
GRANT UPDATE(merged_into) ON TABLE public.insights TO clearwell_eraser;
GRANT UPDATE(merged_into) ON TABLE public.insights TO clearwell_worker;
GRANT UPDATE(changed_at) ON TABLE public.insights TO clearwell_reviewer;
GRANT UPDATE(changed_at) ON TABLE public.insights TO clearwell_worker;
GRANT UPDATE(sentences) ON TABLE public.insights TO clearwell_eraser;
GRANT UPDATE(notes) ON TABLE public.insights TO clearwell_eraser;
GRANT UPDATE(sides) ON TABLE public.insights TO clearwell_reviewer;
GRANT UPDATE(sides) ON TABLE public.insights TO clearwell_eraser;
GRANT SELECT,INSERT ON TABLE public.memory_conflicts TO clearwell_worker;
GRANT SELECT,INSERT ON TABLE public.memory_conflicts TO clearwell_reviewer;
GRANT SELECT ON TABLE public.memory_conflicts TO clearwell_agent;
GRANT SELECT,DELETE ON TABLE public.memory_conflicts TO clearwell_eraser;
GRANT SELECT,INSERT ON TABLE public.memory_conflicts TO clearwell_archivist;
GRANT SELECT ON TABLE public.memory_gaps TO clearwell_agent;
GRANT SELECT,INSERT ON TABLE public.memory_gaps TO clearwell_reviewer;
GRANT SELECT ON TABLE public.memory_gaps TO clearwell_worker;
GRANT SELECT,DELETE ON TABLE public.memory_gaps TO clearwell_eraser;
GRANT SELECT,INSERT ON TABLE public.memory_gaps TO clearwell_archivist;
GRANT SELECT ON TABLE public.memory_uses TO clearwell_reviewer;
GRANT SELECT,INSERT ON TABLE public.memory_uses TO clearwell_worker;
GRANT SELECT,DELETE ON TABLE public.memory_uses TO clearwell_eraser;
GRANT UPDATE(last_used_at) ON TABLE public.memory_uses TO clearwell_worker;
GRANT UPDATE(days) ON TABLE public.memory_uses TO clearwell_worker;
GRANT SELECT ON TABLE public.quarantine_vectors TO clearwell_reviewer;
GRANT SELECT,INSERT ON TABLE public.quarantine_vectors TO clearwell_worker;
GRANT SELECT,DELETE ON TABLE public.quarantine_vectors TO clearwell_eraser;
GRANT SELECT ON TABLE public.reembeddings TO clearwell_agent;
GRANT SELECT ON TABLE public.reembeddings TO clearwell_reviewer;
GRANT SELECT,INSERT ON TABLE public.reembeddings TO clearwell_worker;
GRANT SELECT ON TABLE public.reembeddings TO clearwell_operator;
GRANT SELECT ON TABLE public.reembeddings TO clearwell_archivist;
GRANT UPDATE(moving_at) ON TABLE public.reembeddings TO clearwell_worker;
GRANT UPDATE(finished_at) ON TABLE public.reembeddings TO clearwell_worker;
GRANT SELECT ON TABLE public.schema_migrations TO clearwell_app;
GRANT SELECT,INSERT ON TABLE public.segmentations TO clearwell_worker;
GRANT SELECT ON TABLE public.segmentations TO clearwell_reviewer;
GRANT SELECT,DELETE ON TABLE public.segmentations TO clearwell_eraser;
GRANT UPDATE(version) ON TABLE public.segmentations TO clearwell_worker;
GRANT UPDATE(model) ON TABLE public.segmentations TO clearwell_worker;
GRANT UPDATE(segmenter) ON TABLE public.segmentations TO clearwell_worker;
GRANT UPDATE(problem) ON TABLE public.segmentations TO clearwell_worker;
GRANT UPDATE(attempts) ON TABLE public.segmentations TO clearwell_worker;
GRANT UPDATE(due_at) ON TABLE public.segmentations TO clearwell_worker;
GRANT SELECT ON TABLE public.sightings TO clearwell_reviewer;
GRANT SELECT,INSERT ON TABLE public.sightings TO clearwell_worker;
GRANT SELECT,DELETE ON TABLE public.sightings TO clearwell_eraser;
GRANT SELECT,INSERT ON TABLE public.sightings TO clearwell_archivist;
GRANT SELECT,INSERT,DELETE ON TABLE public.statements TO clearwell_worker;
GRANT SELECT ON TABLE public.statements TO clearwell_reviewer;
GRANT SELECT,DELETE ON TABLE public.statements TO clearwell_eraser;
GRANT SELECT ON TABLE public.tombstones TO clearwell_worker;
GRANT SELECT,INSERT ON TABLE public.tombstones TO clearwell_reviewer;
GRANT SELECT,INSERT,DELETE ON TABLE public.tombstones TO clearwell_eraser;
GRANT SELECT,INSERT ON TABLE public.tombstones TO clearwell_archivist;
GRANT UPDATE(lifted_by) ON TABLE public.tombstones TO clearwell_reviewer;
GRANT UPDATE(lifted_at) ON TABLE public.tombstones TO clearwell_reviewer;
GRANT SELECT,INSERT,UPDATE ON TABLE public.working_groups TO clearwell_worker;
