-- Chunks can be compared with the text that was promoted, whatever the size of chunks was when they were made.

-- Whether chunks, in order, are parts of a text and together have all of it but white space at the cuts: each begins at
-- the latest place where everything before it has been said, and says more of the text.
CREATE FUNCTION clearwell_is_split(content text, chunks text[]) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
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
REVOKE EXECUTE ON FUNCTION clearwell_is_split(text, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clearwell_is_split(text, text[]) TO clearwell_reviewer, clearwell_eraser;
