//! The promises of the contract as tests. Every driver runs all of them: `ordo_store::conformance!(crate::place);`
//!
//! Invariant: a case knows nothing of the driver but [`StoreUnderTest`], has no clock and no chance, and is listed below
//! (a test compares the list with the sources).

#![allow(clippy::unwrap_used, reason = "these are tests, compiled for other crates")]

use std::sync::Arc;

use async_trait::async_trait;

use crate::Store;

pub mod alarms;
pub mod chunks;
pub mod commits;
pub mod dedup;
pub mod given;
pub mod logs;
pub mod quotas;
pub mod rebuilds;
pub mod reopening;
pub mod rows;
pub mod snapshots;
pub mod tables;
pub mod trims;

/// Where a case has its store: a folder, a database. New for each case, empty at first.
#[async_trait]
pub trait StoreUnderTest: Send + Sync {
    /// Opens the store; after the former one was dropped, what it committed is there.
    async fn open(&self) -> Arc<dyn Store>;
}

/// Makes a test of each case. `$place` is the path of a function that makes a new [`StoreUnderTest`].
#[macro_export]
macro_rules! conformance {
    ($place:path) => {
        $crate::conformance_cases!($crate::conformance_tests, $place);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! conformance_tests {
    ($place:path; $($module:ident { $($case:ident)* })*) => {
        $(mod $module {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                $crate::conformance::$module::$case(&$place()).await;
            })*
        })*
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! conformance_cases {
    ($then:path, $($given:tt)*) => {
        $then! { $($given)*;
            commits {
                a_new_stream_starts_at_version_one
                several_events_of_one_item_get_consecutive_versions
                an_item_without_events_keeps_the_version
                a_stale_version_is_a_conflict_with_the_actual_one
                creating_what_exists_is_a_conflict
                changing_what_does_not_exist_is_a_conflict_with_zero
                a_conflict_writes_nothing
                a_conflict_does_not_stop_the_other_items
                items_of_one_entity_apply_in_order
                of_two_items_with_one_version_the_first_wins
                an_empty_batch_is_committed
                a_snapshot_without_any_event_is_misuse
                a_kind_without_a_name_or_with_too_long_a_name_is_misuse
                an_actor_without_a_byte_or_with_too_many_is_misuse
                a_misused_batch_writes_nothing
                of_many_concurrent_commits_to_one_entity_one_wins_each_version
                many_concurrent_commits_to_many_entities_all_succeed
                large_values_come_back_whole
                a_batch_of_thousands_of_items_is_committed
                trying_to_write_leaves_nothing_behind
            }
            dedup {
                a_second_item_with_a_key_is_a_duplicate_and_gets_the_first_value
                a_duplicate_writes_nothing
                a_duplicate_inside_one_batch_is_found
                one_known_key_of_several_makes_the_item_a_duplicate
                an_expired_key_is_no_duplicate
                a_key_expires_at_its_very_moment
                a_duplicate_that_is_also_a_conflict_is_a_duplicate
                a_key_of_a_refused_item_is_not_taken
                reading_a_key_respects_its_expiry
                expired_keys_are_forgotten_and_the_others_kept
                forgetting_stops_at_its_limit
                a_key_that_was_renewed_is_not_forgotten_at_its_old_expiry
                keys_may_be_empty_or_prefixes_of_each_other
            }
            quotas {
                as_many_rows_as_the_quota_says_and_no_more
                an_exhausted_item_writes_nothing
                an_exhausted_item_does_not_stop_the_others
                a_row_that_goes_frees_its_share
                a_share_that_is_freed_earlier_in_a_batch_can_be_taken_in_it
                an_item_may_hand_its_share_on_to_itself
                quotas_with_other_keys_are_their_own
                one_of_several_quotas_that_is_used_up_refuses_the_item
                a_conflict_is_found_before_a_quota_is_judged
                in_no_window_are_there_more_than_the_rate_says
                starts_of_one_batch_count_for_each_other
                an_item_may_start_several_or_none
                a_start_that_lies_ahead_does_not_close_a_rate
                a_start_by_a_clock_that_is_a_little_ahead_counts
                starts_are_remembered_after_reopening_and_forgotten_in_time
                of_many_concurrent_commits_as_many_get_a_share_as_there_are
            }
            alarms {
                an_alarm_rings_at_its_time_not_before
                a_moved_alarm_rings_only_at_its_new_time
                a_cleared_alarm_does_not_ring
                a_changed_rank_is_seen_without_moving_the_alarm
                alarms_ring_in_order_of_time_then_id
                due_pages_with_after_without_gap_or_repetition
                due_after_an_alarm_that_is_gone_goes_on_behind_it
                due_after_a_later_time_is_empty
                alarms_at_the_bounds_of_time_are_found
                a_snapshot_has_its_alarm
                a_refused_item_leaves_the_alarm_alone
            }
            logs {
                history_pages_by_version
                history_of_nobody_is_empty
                history_from_beyond_the_end_is_empty_but_has_the_oldest
                histories_of_neighbours_do_not_mix
                events_of_one_entity_come_by_version_and_reading_on_after_any_gives_the_rest
                events_page_by_position_without_gap_or_repetition
                events_after_the_last_position_are_none_until_there_are_new_ones
                the_last_position_of_an_outcome_is_where_its_last_event_stands
                an_event_comes_back_as_it_was_given
                who_brought_an_event_about_comes_back_after_a_restart_too
                a_checkpoint_has_an_actor_of_its_own
                a_made_up_position_is_refused
                the_distance_of_positions_counts_events_that_are_gone_too
            }
            trims {
                a_checkpoint_replaces_the_prefix_and_keeps_version_and_position
                a_trim_may_cover_the_whole_stream
                a_trim_applies_after_the_items_own_events
                the_same_trim_twice_is_once
                an_older_trim_changes_nothing
                a_trim_of_nothing_changes_nothing
                a_trim_beyond_the_end_is_misuse
                events_after_a_trimmed_position_go_on_with_the_checkpoint
                a_refused_item_trims_nothing
                a_stream_goes_on_after_a_trim
                a_purge_leaves_no_trace
                a_purge_keeps_the_neighbours
                a_purge_of_another_version_is_a_conflict
                a_purged_stream_may_begin_again_at_new_positions
                a_purge_of_nobody_is_harmless
            }
            rows {
                a_row_is_put_replaced_and_deleted
                deleting_a_row_that_is_not_there_is_harmless
                rows_come_in_the_order_of_their_keys
                rows_come_backwards_when_asked
                a_range_includes_its_start_and_excludes_its_end
                a_prefix_range_finds_exactly_its_rows
                a_range_that_ends_before_it_starts_is_empty
                views_do_not_see_each_others_rows
                the_last_write_of_a_row_in_an_item_stays
                rows_of_a_refused_item_are_not_written
                an_empty_value_is_a_row
                a_page_may_be_of_no_rows
                rows_by_key_are_one_answer_per_key_in_order
                rows_of_ranges_are_one_list_per_range_each_cut_at_the_limit
                rows_of_ranges_may_be_open_empty_or_the_wrong_way_round
            }
            tables {
                a_run_is_found_by_its_id_its_job_and_its_status
                a_run_that_moves_on_is_found_by_its_new_status_alone
                a_run_that_is_gone_is_found_nowhere
                runs_of_a_job_come_in_order_from_either_end
                statuses_come_in_the_order_of_their_codes
                runs_of_many_jobs_come_in_one_read
                a_job_is_found_by_its_state
                a_store_with_tables_has_the_cells_that_were_written
                a_row_of_a_table_without_its_cells_is_misuse_where_there_are_tables
                a_rebuild_puts_back_tables_and_their_indexes
            }
            chunks {
                chunks_come_in_order_of_number_not_of_arrival
                chunks_page_from_a_number
                chunks_of_owners_do_not_mix
                forgetting_an_owner_forgets_all_its_chunks_and_no_others
                a_refused_item_forgets_no_chunks
                chunks_alone_make_a_batch
                chunks_are_written_even_where_all_items_are_refused
                a_chunk_given_with_the_item_that_forgets_its_owner_is_forgotten
                a_chunk_given_again_replaces_the_former
            }
            snapshots {
                load_answers_in_the_order_it_was_asked
                load_of_nothing_is_nothing
                entities_page_in_order_of_id
                stats_count_what_is_there
            }
            rebuilds {
                clearing_empties_what_is_derived_and_keeps_the_events
                a_rebuild_puts_back_snapshots_alarms_and_rows
                between_clearing_and_the_end_of_a_rebuild_nothing_is_committed
                an_interrupted_rebuild_is_remembered_and_can_be_repeated
                a_rebuild_keeps_dedup_keys_and_chunks
            }
            reopening {
                what_was_committed_is_there_after_reopening
                positions_go_on_after_reopening
                positions_of_purged_events_are_not_given_again_after_reopening
                versions_guard_across_reopening
            }
        }
    };
}

#[cfg(test)]
mod tests {
    macro_rules! names {
        (; $($module:ident { $($case:ident)* })*) => {
            const LISTED: &[(&str, &[&str])] = &[$((stringify!($module), &[$(stringify!($case)),*])),*];
        };
    }
    conformance_cases!(names,);

    const SOURCES: [(&str, &str); 12] = [
        ("commits", include_str!("commits.rs")),
        ("dedup", include_str!("dedup.rs")),
        ("quotas", include_str!("quotas.rs")),
        ("alarms", include_str!("alarms.rs")),
        ("logs", include_str!("logs.rs")),
        ("trims", include_str!("trims.rs")),
        ("rows", include_str!("rows.rs")),
        ("chunks", include_str!("chunks.rs")),
        ("snapshots", include_str!("snapshots.rs")),
        ("tables", include_str!("tables.rs")),
        ("rebuilds", include_str!("rebuilds.rs")),
        ("reopening", include_str!("reopening.rs")),
    ];

    #[test]
    fn every_case_is_listed() {
        for (module, source) in SOURCES {
            let written = source.lines().filter_map(|line| line.strip_prefix("pub async fn "));
            let written: Vec<&str> = written.filter_map(|line| line.split('(').next()).collect();
            let listed = LISTED.iter().find(|(name, _)| *name == module).map(|(_, cases)| cases.to_vec());
            assert_eq!(Some(written), listed, "{module}");
        }
    }
}
