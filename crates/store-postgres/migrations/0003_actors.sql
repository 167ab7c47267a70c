-- Layout 3: who brought an event about. NULL: Ordo by itself, which takes no room. Empty: not recorded, which is what the
-- events from before this column read as, and those of a node that does not know it yet. Nothing is rewritten.
ALTER TABLE events ADD COLUMN actor bytea DEFAULT '';
