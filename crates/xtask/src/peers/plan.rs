//! Who is measured with what: systems, workloads, and the sizes of each.

use std::fmt;

use super::options::Options;

#[derive(Debug)]
pub(super) struct System {
    pub(super) name: &'static str,
    pub(super) is_ordo: bool,
    /// More jobs than this take it longer than anybody waits.
    jobs_max: u64,
}

const fn ordo(name: &'static str) -> System {
    System { name, is_ordo: true, jobs_max: u64::MAX }
}

const fn peer(name: &'static str) -> System {
    System { name, is_ordo: false, jobs_max: 500_000 }
}

pub(super) static SYSTEMS: [System; 7] = [
    ordo("ordo"),
    ordo("ordo-postgres"),
    peer("graphile-worker"),
    peer("pg-boss"),
    peer("bullmq"),
    peer("restate"),
    System { name: "apscheduler", is_ordo: false, jobs_max: 20_000 },
];

#[derive(Debug)]
pub(super) struct Workload {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    ordo_alone: bool,
    /// What the driver is given, for each size.
    sizes: &'static [WorkloadSize],
    quick: WorkloadSize,
}

type WorkloadSize = &'static [(&'static str, u64)];

impl Workload {
    pub(super) fn takes(&self, system: &System) -> bool {
        system.is_ordo || !self.ordo_alone
    }
}

pub(super) static WORKLOADS: [Workload; 6] = [
    Workload {
        name: "W1",
        title: "Schedule",
        ordo_alone: false,
        sizes: &[&[("seconds", 5), ("jobs", 40_000)]],
        quick: &[("seconds", 1), ("jobs", 500)],
    },
    Workload {
        name: "W2",
        title: "Burst",
        ordo_alone: false,
        sizes: &[&[("jobs", 20_000)], &[("jobs", 100_000)]],
        quick: &[("jobs", 500)],
    },
    Workload {
        name: "W3",
        title: "Steady",
        ordo_alone: false,
        sizes: &[&[("rate", 1_000), ("seconds", 20)], &[("rate", 5_000), ("seconds", 10)]],
        quick: &[("rate", 100), ("seconds", 3)],
    },
    Workload {
        name: "W4",
        title: "Steady beside pending jobs",
        ordo_alone: false,
        sizes: &[
            &[("pending", 500_000), ("rate", 1_000), ("seconds", 10)],
            &[("pending", 1_000_000), ("rate", 1_000), ("seconds", 10), ("cut_s", 3_600)],
            &[("pending", 10_000_000), ("rate", 1_000), ("seconds", 10), ("cut_s", 3_600)],
        ],
        quick: &[("pending", 500), ("rate", 100), ("seconds", 2)],
    },
    Workload {
        name: "W5",
        title: "Recurring every second",
        ordo_alone: true,
        sizes: &[&[("jobs", 10_000), ("seconds", 60), ("spread_ms", 1_000)], &[("jobs", 10_000), ("seconds", 60)]],
        quick: &[("jobs", 50), ("seconds", 4), ("spread_ms", 1_000)],
    },
    Workload {
        name: "W6",
        title: "Restart after kill -9",
        ordo_alone: true,
        sizes: &[&[("pending", 1_000_000)]],
        quick: &[("pending", 500)],
    },
];

/// One workload in one size.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    pub(super) workload: &'static Workload,
    pub(super) numbers: WorkloadSize,
}

pub(super) fn cases(options: &Options) -> Vec<Case> {
    let sizes = |workload: &'static Workload| -> Vec<WorkloadSize> {
        if options.quick { vec![workload.quick] } else { workload.sizes.to_vec() }
    };
    let all = options.workloads.iter().flat_map(|workload| sizes(workload).into_iter().map(move |n| (*workload, n)));
    all.map(|(workload, numbers)| Case { workload, numbers }).collect()
}

impl Case {
    /// Those of the chosen systems that take part.
    pub(super) fn systems(&self, options: &Options) -> Vec<&'static System> {
        options.systems.iter().copied().filter(|system| self.takes(system)).collect()
    }

    /// Whether nobody who takes part was left out.
    pub(super) fn is_complete(&self, options: &Options) -> bool {
        self.systems(options).len() == SYSTEMS.iter().filter(|system| self.takes(system)).count()
    }

    fn takes(&self, system: &System) -> bool {
        // Pending jobs are made until the time for it is up: a slow system has fewer of them.
        let pending_max = if system.is_ordo { u64::MAX } else { 500_000 };
        let jobs =
            self.number("jobs").unwrap_or(self.number("rate").unwrap_or(0) * self.number("seconds").unwrap_or(0));
        let jobs_fit = self.workload.name == "W1" || jobs <= system.jobs_max;
        self.workload.takes(system) && self.number("pending").unwrap_or(0) <= pending_max && jobs_fit
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.numbers.iter().find(|(given, _)| *given == name).map(|(_, number)| *number)
    }
}

/// `W3 rate=1000 seconds=20`
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.workload.name)?;
        self.numbers.iter().try_for_each(|(name, number)| write!(f, " {name}={number}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(line: &str) -> Vec<String> {
        let options = Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).unwrap();
        let with_systems = |case: &Case| {
            let names: Vec<&str> = case.systems(&options).iter().map(|system| system.name).collect();
            format!("{case}: {}", names.join(" "))
        };
        cases(&options).iter().map(with_systems).collect()
    }

    #[test]
    fn more_than_half_a_million_pending_jobs_are_for_ordo_alone() {
        let expected = [
            "W4 pending=500000 rate=1000 seconds=10: ordo bullmq",
            "W4 pending=1000000 rate=1000 seconds=10 cut_s=3600: ordo",
            "W4 pending=10000000 rate=1000 seconds=10 cut_s=3600: ordo",
        ];
        assert_eq!(planned("--only ordo,bullmq --workloads W4"), expected);
    }

    #[test]
    fn a_slow_system_is_spared_the_large_sizes() {
        let planned = planned("--only ordo,apscheduler --workloads W2,W3");
        assert_eq!(planned[0], "W2 jobs=20000: ordo apscheduler");
        assert_eq!(planned[1], "W2 jobs=100000: ordo");
        assert_eq!(planned[3], "W3 rate=5000 seconds=10: ordo");
    }

    #[test]
    fn recurring_jobs_are_complete_without_peers_and_a_burst_is_not() {
        let args = ["--only", "ordo,ordo-postgres", "--workloads", "W2,W5"].map(str::to_owned);
        let options = Options::parse(&args).unwrap();
        let complete: Vec<bool> = cases(&options).iter().map(|case| case.is_complete(&options)).collect();
        assert_eq!(complete, [false, false, true, true]);
    }
}
