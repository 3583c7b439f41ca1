//! What a fanout of many arms holds while it runs.

use runvil_engine::{EventKind, Limits};

use crate::driven::{Driven, block, there};

/// Runs `arms` arms, each of which waits once, with the oldest effect answered first. Returns the most effects that
/// were ever open, and the most sections that were ever entered and not left.
fn widest(arms: usize) -> (usize, usize) {
    let main =
        format!("local items = {{}}\nfor i = 1, {arms} do items[i] = i end\nreturn #tasks.fanout('### Arm', items)");
    let arm = "store.exists('x')\nreturn item";
    let mut run = Driven::start(&(block("## Main", &main) + &block("### Arm", arm)));
    let (mut open, mut live) = (0, 0);
    while run.outcome.is_none() {
        open = open.max(run.open.len());
        live = live.max(sections(&run));
        run.answer(0, there());
    }
    assert_eq!(run.text(), Ok(arms.to_string().as_str()));
    (open, live)
}

/// How many sections were entered and not left.
fn sections(run: &Driven) -> usize {
    let count = |wanted: fn(&EventKind) -> bool| run.events.iter().filter(|event| wanted(&event.kind)).count();
    count(|kind| matches!(kind, EventKind::SectionStarted)) - count(|kind| matches!(kind, EventKind::SectionFinished))
}

#[test]
fn arms_run_no_wider_than_the_concurrency() {
    let concurrency = Limits::default().concurrency as usize;
    // The section that waits for the arms is entered too.
    assert_eq!(widest(100), (concurrency, concurrency + 1));
}

#[test]
fn an_arm_that_ended_leaves_no_vm_behind() {
    let held = |arms| allocation_counter::measure(|| _ = widest(arms)).bytes_max;
    // A VM holds tens of KiB; an ended arm leaves its result and its events.
    let each = held(1_100).saturating_sub(held(100)) / 1_000;
    assert!(each < 8 * 1024, "{each} bytes held for each arm");
}
