-- Nobody shadows a table of ours with a temporary one, and nobody keeps text in large objects. A login that owns neither
-- the database nor the server's functions cannot take these rights away: then an operator does.
DO $$
DECLARE
    large_object_function regprocedure;
BEGIN
    EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database());
    EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_temp', current_database());
    FOR large_object_function IN
        SELECT oid FROM pg_proc
        WHERE pronamespace = 'pg_catalog'::regnamespace AND proname ~ '^(lo_|lo(read|write)$)'
    LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', large_object_function);
    END LOOP;
EXCEPTION WHEN insufficient_privilege THEN
    RAISE WARNING 'the rights to temporary tables and large objects stay: %', SQLERRM;
END
$$;
