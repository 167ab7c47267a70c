-- A role that may insert into Ordo's table of submissions, and nothing else (docs/sql.md).
--
--   psql "$DATABASE_URL" --variable=schema=ordo --file=submit-only.sql
--
-- Whoever may add jobs decides what runs on the nodes: give the role to programs that you would give an operator's token. To
-- let a program run only jobs that are there, as they are, grant INSERT (id, label) instead. To let a role that your
-- application has already submit: GRANT ordo_submitter TO application. Repeating the script does no harm.
\set ON_ERROR_STOP on
\if :{?schema}
\else
    \set schema ordo
\endif

SELECT 'CREATE ROLE ordo_submitter LOGIN'
WHERE NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'ordo_submitter') \gexec

GRANT USAGE ON SCHEMA :"schema" TO ordo_submitter;
GRANT INSERT (id, label, input, tool, run_at, job), SELECT (id) ON :"schema".submissions TO ordo_submitter;
