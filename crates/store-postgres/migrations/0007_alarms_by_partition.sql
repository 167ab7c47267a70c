-- Layout 7: alarms are found partition by partition, so that a node reads those it serves and no others. Statements of layout 6
-- still go by this index, if not as fast; nodes of both layouts work side by side.
CREATE INDEX entities_by_partition_and_alarm ON entities (partition, alarm_at, id, kind, alarm_rank) WHERE alarm_at IS NOT NULL;
DROP INDEX entities_by_alarm;
