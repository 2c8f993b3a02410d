-- The roles of the path. The program connects, enters clearwell_app, and from there one working role per transaction.
CREATE EXTENSION IF NOT EXISTS vector;

-- Roles belong to the whole server: another database of it may have made them, also at this very moment.
DO $$
DECLARE
    role_name text;
BEGIN
    FOREACH role_name IN ARRAY ARRAY[
        'clearwell_app', 'clearwell_agent', 'clearwell_reviewer',
        'clearwell_worker', 'clearwell_eraser', 'clearwell_operator'
    ] LOOP
        BEGIN
            EXECUTE format('CREATE ROLE %I NOLOGIN NOINHERIT', role_name);
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;
        END;
    END LOOP;
END
$$;

-- clearwell_app may enter the working roles but has none of their rights itself.
GRANT clearwell_agent, clearwell_reviewer, clearwell_worker, clearwell_eraser, clearwell_operator
    TO clearwell_app WITH INHERIT FALSE, SET TRUE;

-- Whoever migrates may also run the program.
GRANT clearwell_app TO CURRENT_USER WITH INHERIT FALSE, SET TRUE;

GRANT USAGE ON SCHEMA public TO
    clearwell_app, clearwell_agent, clearwell_reviewer, clearwell_worker, clearwell_eraser, clearwell_operator;
