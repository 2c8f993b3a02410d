-- The hash of a rejected value is called a hash: a digest is the weekly digest.
ALTER TABLE tombstones RENAME COLUMN digest TO value_hash;

-- From PostgreSQL 18 on, NOT NULL is a constraint with a name.
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_constraint
        WHERE conrelid = 'tombstones'::regclass AND conname = 'tombstones_digest_not_null') THEN
        ALTER TABLE tombstones RENAME CONSTRAINT tombstones_digest_not_null TO tombstones_value_hash_not_null;
    END IF;
END $$;
