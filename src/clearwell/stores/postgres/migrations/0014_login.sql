-- A program's login that was granted clearwell_app and nothing else can see at start whether the schema is the right one.
GRANT SELECT ON schema_migrations TO clearwell_app;
