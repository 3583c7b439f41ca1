//! What recording costs a run with 1,000 small effects, as a ratio.
//!
//! The same run with and without a record, turn by turn, since a machine is seldom as fast as a minute ago. Each line
//! has the median time of either, and the median and the quartiles of how much longer the recorded run of a pair took.
//!
//! `cargo bench -p runvil-record --bench recording -- [PAIRS] [NAME…]`

mod place;

use std::{
    env,
    time::{Duration, Instant},
};

use place::Place;

/// The runs, by name.
const RUNS: [(&str, &str); 4] = [
    (
        "rounds",
        "models.use('m') for i = 1, 1000 do models.infer('round ' .. i) end return 'done'",
    ),
    (
        "writes",
        "for i = 1, 1000 do store.write(i % 10 .. '.md', 'x') end return 'done'",
    ),
    (
        "reads",
        "store.write('a.md', 'x') for i = 1, 999 do store.read('a.md') end return 'done'",
    ),
    (
        "mixed",
        "models.use('m') for i = 1, 250 do store.write('a.md', models.infer('round ' .. i)) store.append('a.md', 'x') \
         store.read('a.md') end return 'done'",
    ),
];

/// How many pairs are timed, unless the command line says.
const PAIRS: usize = 30;

fn main() {
    let words: Vec<String> = env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let pairs = words.iter().find_map(|word| word.parse().ok()).unwrap_or(PAIRS);
    let is_meant = |name: &str| {
        let mut names = words.iter().filter(|word| word.parse::<usize>().is_err()).peekable();
        names.peek().is_none() || names.any(|word| word == name)
    };
    for (name, lua) in RUNS.iter().filter(|(name, _)| is_meant(name)) {
        compare(name, lua, pairs);
    }
}

fn compare(name: &str, lua: &str, pairs: usize) {
    let place = Place::new();
    let time = |recorded| {
        let begun = Instant::now();
        place.run(lua, recorded);
        begun.elapsed()
    };
    // Both are warm before they count.
    for recorded in [false, true] {
        time(recorded);
    }
    let (mut without, mut with, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for pair in 0..pairs {
        // Neither is always the first.
        let first = time(pair % 2 == 0);
        let second = time(pair % 2 != 0);
        let (recorded, plain) = if pair % 2 == 0 {
            (first, second)
        } else {
            (second, first)
        };
        without.push(plain);
        with.push(recorded);
        ratios.push(recorded.as_secs_f64() / plain.as_secs_f64());
    }
    ratios.sort_by(f64::total_cmp);
    let cost = |quarters: usize| 100.0 * (ratios[(ratios.len() - 1) * quarters / 4] - 1.0);
    println!(
        "{name:7} {:6.1} -> {:6.1} ms   {:+5.1} % ({:+.1} to {:+.1}), {pairs} pairs",
        median(without),
        median(with),
        cost(2),
        cost(1),
        cost(3)
    );
}

/// In milliseconds.
fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e3
}
