//! Random cron expressions of the whole dialect, from a seed.

/// Chance from a seed (SplitMix64).
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From `low` up to and with `high`.
    pub(crate) fn within(&mut self, low: i64, high: i64) -> i64 {
        low + i64::try_from(self.next() % u64::try_from(high - low + 1).unwrap()).unwrap()
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::try_from(self.within(0, i64::try_from(from.len()).unwrap() - 1)).unwrap()]
    }

    fn one_in(&mut self, n: i64) -> bool {
        self.within(1, n) == 1
    }
}

const MONTHS: [&str; 12] = ["JAN", "feb", "Mar", "APR", "may", "Jun", "JUL", "aug", "Sep", "OCT", "nov", "Dec"];
const WEEKDAYS: [&str; 7] = ["SUN", "mon", "Tue", "WED", "thu", "Fri", "SAT"];

/// An expression whose years, if it names any, lie around the five from `beginning` on.
pub(crate) fn any(dice: &mut Dice, beginning: i16) -> String {
    let with_year = dice.one_in(5);
    let mut fields = Vec::new();
    if with_year || dice.one_in(4) {
        fields.push(if dice.one_in(2) { "0".to_owned() } else { list(dice, |dice| numbers(dice, 0, 59)) });
    }
    fields.push(if dice.one_in(6) { "*".to_owned() } else { list(dice, |dice| numbers(dice, 0, 59)) });
    fields.push(hours(dice));
    fields.push(if dice.one_in(2) { star(dice) } else { list(dice, day) });
    fields.push(if dice.one_in(2) { "*".to_owned() } else { list(dice, |dice| named(dice, 1, 12, &MONTHS)) });
    fields.push(if dice.one_in(2) { star(dice) } else { weekdays(dice) });
    if with_year {
        let first = i64::from(beginning);
        fields.push(if dice.one_in(4) {
            format!("*/{}", dice.within(1, 9))
        } else {
            list(dice, |dice| years(dice, first))
        });
    }
    fields.join(" ")
}

fn star(dice: &mut Dice) -> String {
    dice.pick(&["*", "*", "*", "?"]).to_owned()
}

fn list(dice: &mut Dice, part: impl Fn(&mut Dice) -> String) -> String {
    let count = dice.pick(&[1, 1, 1, 2, 3]);
    (0..count).map(|_| part(dice)).collect::<Vec<_>>().join(",")
}

/// `7`, `7-9`, `*/5`, `7-21/5` or `7/5`.
fn numbers(dice: &mut Dice, min: i64, max: i64) -> String {
    let (a, b) = (dice.within(min, max), dice.within(min, max));
    let (a, b) = (a.min(b), a.max(b));
    let step = dice.within(1, (max - min).min(40));
    match dice.within(0, 7) {
        0 => format!("{a}-{b}"),
        1 => format!("*/{step}"),
        2 => format!("{a}-{b}/{step}"),
        3 => format!("{a}/{step}"),
        _ => dice.pick(&[a, b]).to_string(),
    }
}

/// Mostly the hours in which clocks change.
fn hours(dice: &mut Dice) -> String {
    match dice.within(0, 9) {
        0 => "*".to_owned(),
        1 => format!("*/{}", dice.within(1, 12)),
        2 => list(dice, |dice| numbers(dice, 0, 23)),
        3 => format!("{},*/{}", dice.within(0, 4), dice.within(2, 12)),
        4 => format!("{}/{}", dice.within(0, 4), dice.within(1, 12)),
        _ => list(dice, |dice| numbers(dice, 0, 4)),
    }
}

fn day(dice: &mut Dice) -> String {
    match dice.within(0, 7) {
        0 => "L".to_owned(),
        1 => "LW".to_owned(),
        2 => format!("{}W", dice.within(1, 31)),
        3 => format!("{}W", dice.pick(&[1, 2, 28, 29, 30, 31])),
        _ => numbers(dice, 1, 31),
    }
}

/// Numbers or, in ranges too, names.
fn named(dice: &mut Dice, min: i64, max: i64, names: &[&str]) -> String {
    let name = |value: i64| names[usize::try_from(value - min).unwrap()];
    let (a, b) = (dice.within(min, max), dice.within(min, max));
    let (a, b) = (a.min(b), a.max(b));
    match dice.within(0, 5) {
        0 => name(a).to_owned(),
        1 => format!("{}-{}", name(a), name(b)),
        2 => format!("{}/{}", name(a), dice.within(1, 4)),
        _ => numbers(dice, min, max),
    }
}

fn weekdays(dice: &mut Dice) -> String {
    let both = if dice.one_in(5) { "+" } else { "" };
    format!("{both}{}", list(dice, weekday))
}

fn weekday(dice: &mut Dice) -> String {
    let day = dice.within(0, 7);
    let from = dice.within(1, 6);
    match dice.within(0, 9) {
        0 => format!("{day}#{}", dice.within(1, 5)),
        1 => format!("{day}L"),
        2 => format!("{}L", dice.pick(&WEEKDAYS)),
        3 => format!("{}#L", dice.pick(&WEEKDAYS)),
        4 => format!("{from}-7#{}", dice.pick(&["1", "3", "5", "L"])),
        5 => format!("{}-SUN", WEEKDAYS[usize::try_from(from).unwrap()]),
        6 => day.to_string(),
        _ => named(dice, 0, 6, &WEEKDAYS),
    }
}

fn years(dice: &mut Dice, first: i64) -> String {
    let (a, b) = (dice.within(first - 2, first + 6), dice.within(first - 2, first + 6));
    let (a, b) = (a.min(b), a.max(b));
    match dice.within(0, 3) {
        0 => format!("{a}-{b}"),
        1 => format!("{a}/{}", dice.within(1, 4)),
        2 => format!("{a}-{b}/{}", dice.within(1, 3)),
        _ => a.to_string(),
    }
}
