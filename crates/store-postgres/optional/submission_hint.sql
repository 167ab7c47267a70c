-- Wakes the nodes when a transaction that inserted submissions is committed. Only a hint: a database that lacks one of these
-- is swept every second instead, and so is one where somebody has disabled the trigger.
CREATE FUNCTION notify_of_submissions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('ordo_' || TG_TABLE_SCHEMA, 'submissions');
    RETURN NULL;
END $$;
CREATE TRIGGER notify_of_submissions AFTER INSERT ON submissions
    FOR EACH STATEMENT EXECUTE FUNCTION notify_of_submissions();
