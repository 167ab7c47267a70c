-- A role that may read Ordo's four SQL views, and nothing else (docs/sql.md).
--
--   psql "$DATABASE_URL" --variable=schema=ordo --file=read-only.sql
--
-- Give it a password or another way to log in afterwards. Repeating the script does no harm.
\set ON_ERROR_STOP on
\if :{?schema}
\else
    \set schema ordo
\endif

SELECT 'CREATE ROLE ordo_reader LOGIN' WHERE NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'ordo_reader') \gexec

ALTER ROLE ordo_reader SET default_transaction_read_only = on;
-- A question that takes longer keeps old rows from being cleaned up.
ALTER ROLE ordo_reader SET statement_timeout = '10s';
ALTER ROLE ordo_reader SET idle_in_transaction_session_timeout = '30s';

GRANT USAGE ON SCHEMA :"schema" TO ordo_reader;
GRANT SELECT ON :"schema".jobs, :"schema".runs, :"schema".incidents, :"schema".occurrences TO ordo_reader;
