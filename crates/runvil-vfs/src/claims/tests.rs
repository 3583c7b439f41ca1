use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::glob::Glob;

/// One access, as a store call makes it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Access {
    Read(&'static str),
    Write(&'static str),
    Glob(&'static str),
}

use Access::{Read, Write};

const PATHS: [&str; 7] = ["a", "b", "a/a", "a/b", "b/a", "a/b/a", "a/b/b"];
const PATTERNS: [&str; 12] = [
    "*", "a/*", "a/**", "**/b", "*/a", "a/b", "a*", "a/*/", "**", "b/a/*", "*/", "a/b/*",
];

/// What two accesses touch in common, as the book's rules read.
fn overlap(one: &Access, other: &Access) -> bool {
    let beneath = |path: &str, directory: &str| path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'));
    match (one, other) {
        (Write(a), Write(b)) => a == b || beneath(a, b) || beneath(b, a),
        (Write(a), Read(b)) => a == b || beneath(a, b),
        (Write(a), Access::Glob(pattern)) => {
            let glob = Glob::parse(pattern).unwrap();
            let literal = glob.literal_dir().collect::<Vec<_>>().join("/");
            let ends = a.match_indices('/').map(|(at, _)| at).chain([a.len()]);
            ends.map(|end| &a[..end]).any(|path| glob.matches(path)) || (!literal.is_empty() && beneath(a, &literal))
        }
        (Read(_) | Access::Glob(_), Write(_)) => overlap(other, one),
        (Read(_) | Access::Glob(_), _) => false,
    }
}

fn claim(claims: &mut Claims, session: SessionId, who: &Identity, access: &Access) -> Result<(), Clash> {
    let who = Arc::new(who.clone());
    match access {
        Read(path) => claims.claim(
            session,
            &who,
            0,
            Region::Path {
                path,
                kind: ClaimKind::Read,
            },
        ),
        Write(path) => claims.claim(
            session,
            &who,
            0,
            Region::Path {
                path,
                kind: ClaimKind::Write,
            },
        ),
        Access::Glob(pattern) => {
            let glob = Glob::parse(pattern).unwrap();
            claims.claim(session, &who, 0, Region::Glob { base: "", glob: &glob })
        }
    }
}

/// A run whose chains are unordered unless a step forks or joins them.
#[derive(Debug, Clone)]
struct Plan {
    chains: Vec<Vec<Step>>,
}

#[derive(Debug, Clone)]
enum Step {
    Access(Access),
    Fork(usize),
    Join(usize),
}

impl Plan {
    /// Lays random steps out over chains: each goes to some chain, and a join to one that has a child left to join.
    fn lay_out(steps: Vec<(u8, u8, Access)>) -> Self {
        let mut chains = vec![Vec::new()];
        let mut unjoined: Vec<Vec<usize>> = vec![Vec::new()];
        for (kind, place, access) in steps {
            let chain = usize::from(place) % chains.len();
            match kind % 8 {
                0 | 1 if chains.len() < 9 => {
                    let child = chains.len();
                    chains.push(Vec::new());
                    unjoined.push(Vec::new());
                    unjoined[chain].push(child);
                    chains[chain].push(Step::Fork(child));
                }
                2 | 3 if !unjoined[chain].is_empty() => {
                    let at = usize::from(place) % unjoined[chain].len();
                    let child = unjoined[chain].remove(at);
                    chains[chain].push(Step::Join(child));
                }
                _ => chains[chain].push(Step::Access(access)),
            }
        }
        Self { chains }
    }

    fn children(&self, chain: usize) -> impl Iterator<Item = usize> {
        self.chains[chain].iter().filter_map(|step| {
            if let Step::Fork(child) = step {
                Some(*child)
            } else {
                None
            }
        })
    }
}

/// An access that was let through.
struct Accepted {
    number: u32,
    who: Identity,
    /// The accesses that come before it.
    before: u128,
    what: Access,
}

/// One interleaving of a plan, judged by the table and beside it by the definition.
struct Interleaving<'a> {
    plan: &'a Plan,
    done: Vec<usize>,
    identities: Vec<Option<Identity>>,
    /// For each chain, the accesses that come before its next step, by number.
    before: Vec<u128>,
    accepted: Vec<Accepted>,
    /// How many accesses there are so far.
    numbered: u32,
    refused: u32,
    /// Whether a join cuts its child off where it stands instead of waiting for it.
    cancels: bool,
    /// Accesses of chains that were cut off, which arrive late: number, who, what comes before, and what is touched.
    late: Vec<(u32, Identity, u128, Access)>,
    claims: Claims,
    session: SessionId,
}

impl<'a> Interleaving<'a> {
    fn new(plan: &'a Plan, cancels: bool) -> Self {
        let mut claims = Claims::default();
        let session = claims.begin();
        let mut identities = vec![None; plan.chains.len()];
        identities[0] = Some(Identity::root("0"));
        Self {
            plan,
            done: vec![0; plan.chains.len()],
            identities,
            before: vec![0; plan.chains.len()],
            accepted: Vec::new(),
            numbered: 0,
            refused: 0,
            cancels,
            late: Vec::new(),
            claims,
            session,
        }
    }

    fn is_finished(&self, chain: usize) -> bool {
        self.done[chain] == self.plan.chains[chain].len()
            && self.plan.children(chain).all(|child| self.is_finished(child))
    }

    fn can_step(&self, chain: usize) -> bool {
        self.identities[chain].is_some()
            && match self.plan.chains[chain].get(self.done[chain]) {
                None => false,
                Some(Step::Join(child)) => self.cancels || self.is_finished(*child),
                Some(_) => true,
            }
    }

    fn run(mut self, schedule: &[u8]) -> u32 {
        let mut schedule = schedule.iter().copied().cycle();
        loop {
            let ready: Vec<usize> = (0..self.plan.chains.len())
                .filter(|&chain| self.can_step(chain))
                .collect();
            if ready.is_empty() {
                return self.refused;
            }
            let choice = schedule.next().unwrap_or(0);
            if choice % 3 == 0 && !self.late.is_empty() {
                let (number, who, before, what) = self.late.remove(usize::from(choice) % self.late.len());
                self.judge_late(number, who, before, what);
            }
            let chain = ready[usize::from(choice) % ready.len()];
            let step = &self.plan.chains[chain][self.done[chain]];
            self.done[chain] += 1;
            match step {
                Step::Access(what) => self.judge(chain, what),
                Step::Fork(child) => {
                    let parent = self.identities[chain].as_mut().unwrap();
                    self.identities[*child] = Some(parent.fork(child.to_string()));
                    self.before[*child] = self.before[chain];
                }
                Step::Join(child) => self.join(chain, *child),
            }
        }
    }

    fn number(&mut self) -> u32 {
        self.numbered += 1;
        self.numbered
    }

    fn judge(&mut self, chain: usize, what: &Access) {
        let number = self.number();
        let before = self.before[chain];
        let who = self.identities[chain].clone().unwrap();
        let clear = self.accepted.iter().all(|earlier| {
            let ordered = before & (1 << earlier.number) != 0;
            assert_eq!(earlier.who.precedes(&who), ordered, "{} before {who}", earlier.who);
            ordered || !overlap(what, &earlier.what)
        });
        let verdict = claim(&mut self.claims, self.session, &who, what);
        assert_eq!(verdict.is_ok(), clear, "{what:?} by {who} met {verdict:?}");
        if clear {
            self.accepted.push(Accepted {
                number,
                who,
                before,
                what: what.clone(),
            });
        } else {
            self.refused += 1;
        }
        self.before[chain] |= 1 << number;
    }

    /// An access that arrives after its join meets nothing that the join ordered after it. It may pass by a claim that a
    /// later one has replaced, since how far a cancelled chain got is open anyway.
    fn judge_late(&mut self, number: u32, who: Identity, before: u128, what: Access) {
        let clear = self.accepted.iter().all(|other| {
            let ordered = before & (1 << other.number) != 0 || other.before & (1 << number) != 0;
            ordered || !overlap(&what, &other.what)
        });
        let verdict = claim(&mut self.claims, self.session, &who, &what);
        assert!(verdict.is_ok() || !clear, "{what:?} by {who} met {verdict:?}");
        if verdict.is_ok() {
            self.accepted.push(Accepted {
                number,
                who,
                before,
                what,
            });
        }
    }

    fn join(&mut self, chain: usize, child: usize) {
        let identity = self.identities[child].clone().unwrap();
        self.identities[chain].as_mut().unwrap().join(&identity);
        self.before[chain] |= self.end(child);
    }

    /// Ends a chain with all that it forked, and tells which accesses that orders. One that was under way arrives late.
    fn end(&mut self, chain: usize) -> u128 {
        let next = self.plan.chains[chain].get(self.done[chain]);
        if let (Some(Step::Access(what)), Some(who)) = (next, self.identities[chain].clone()) {
            let number = self.number();
            self.late.push((number, who, self.before[chain], what.clone()));
            self.before[chain] |= 1 << number;
        }
        self.done[chain] = self.plan.chains[chain].len();
        let children: Vec<usize> = self.plan.children(chain).collect();
        children
            .into_iter()
            .fold(self.before[chain], |before, child| before | self.end(child))
    }
}

fn plans() -> impl Strategy<Value = Plan> {
    let access = prop_oneof![
        prop::sample::select(&PATHS[..]).prop_map(Read),
        prop::sample::select(&PATHS[..]).prop_map(Write),
        prop::sample::select(&PATTERNS[..]).prop_map(Access::Glob),
    ];
    prop::collection::vec((any::<u8>(), any::<u8>(), access), 1..40).prop_map(Plan::lay_out)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_verdict_is_the_definitions(
        plan in plans(), schedule in prop::collection::vec(any::<u8>(), 1..40), cancels in any::<bool>(),
    ) {
        Interleaving::new(&plan, cancels).run(&schedule);
    }

    #[test]
    fn a_plan_conflicts_in_every_interleaving_or_in_none(
        plan in plans(), schedules in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 2..6),
    ) {
        let conflicts: Vec<bool> =
            schedules.iter().map(|schedule| Interleaving::new(&plan, false).run(schedule) > 0).collect();
        prop_assert!(conflicts.windows(2).all(|pair| pair[0] == pair[1]), "{:?}", conflicts);
    }

    #[test]
    fn strangers_conflict_wherever_they_overlap(one in plans(), other in plans()) {
        let mut claims = Claims::default();
        let (first, second) = (claims.begin(), claims.begin());
        let who = Identity::root("0");
        let mut accepted: [Vec<Access>; 2] = Default::default();
        let accesses = |plan: Plan| plan.chains.into_iter().flatten().filter_map(|step| match step {
            Step::Access(access) => Some(access),
            Step::Fork(_) | Step::Join(_) => None,
        });
        for (mine, session, access) in
            accesses(one).map(|access| (0, first, access)).chain(accesses(other).map(|access| (1, second, access)))
        {
            let clear = !accepted[1 - mine].iter().any(|theirs| overlap(&access, theirs));
            prop_assert_eq!(claim(&mut claims, session, &who, &access).is_ok(), clear);
            if clear {
                accepted[mine].push(access);
            }
        }
    }
}

#[test]
fn a_refused_claim_is_not_recorded() {
    let mut claims = Claims::default();
    let (one, two) = (claims.begin(), claims.begin());
    let who = Identity::root("0");
    claim(&mut claims, one, &who, &Read("a")).unwrap();
    assert!(claim(&mut claims, two, &who, &Write("a")).is_err());
    assert_eq!(claim(&mut claims, one, &who, &Write("a")), Ok(()));
}

#[test]
fn the_claims_of_an_ended_run_do_not_count() {
    let mut claims = Claims::default();
    let (one, two) = (claims.begin(), claims.begin());
    let who = Identity::root("0");
    claim(&mut claims, one, &who, &Write("a/b")).unwrap();
    assert!(claim(&mut claims, two, &who, &Access::Glob("a/*")).is_err());
    claims.end(one);
    assert_eq!(claim(&mut claims, two, &who, &Access::Glob("a/*")), Ok(()));
}

#[test]
fn a_clash_names_the_earlier_claim() {
    let mut claims = Claims::default();
    let session = claims.begin();
    let mut root = Identity::root("0");
    let (first, second) = (root.fork("0.0"), root.fork("0.1"));
    claim(&mut claims, session, &first, &Write("a/b")).unwrap();
    let clash = |kind, identity: &str| {
        Err(Clash {
            kind,
            identity: identity.to_owned(),
        })
    };
    assert_eq!(
        claim(&mut claims, session, &second, &Read("a")),
        clash(ClaimKind::Write, "ExecId(0.0)")
    );
    claim(&mut claims, session, &second, &Access::Glob("b/*")).unwrap();
    assert_eq!(
        claim(&mut claims, session, &root, &Write("b/c")),
        clash(ClaimKind::Read, "ExecId(0.1)")
    );
}

#[test]
fn claims_on_two_mounts_never_meet() {
    let mut claims = Claims::default();
    let (one, two) = (claims.begin(), claims.begin());
    let who = Arc::new(Identity::root("0"));
    let region = Region::Path {
        path: "a",
        kind: ClaimKind::Write,
    };
    claims.claim(one, &who, 0, region).unwrap();
    assert_eq!(claims.claim(two, &who, 1, region), Ok(()));
}

#[test]
fn an_access_that_arrives_after_its_join_meets_nothing_that_came_after_it() {
    let mut claims = Claims::default();
    let session = claims.begin();
    let mut root = Identity::root("0");
    let cancelled = root.fork("0.0");
    root.join(&cancelled);
    let next = root.fork("0.1");
    claim(&mut claims, session, &root, &Write("a")).unwrap();
    claim(&mut claims, session, &next, &Write("b")).unwrap();
    assert_eq!(claim(&mut claims, session, &cancelled, &Read("a")), Ok(()));
    assert_eq!(claim(&mut claims, session, &cancelled, &Write("b")), Ok(()));
}

#[test]
fn a_late_write_hides_no_claim_that_came_after_it() {
    let mut claims = Claims::default();
    let session = claims.begin();
    let mut root = Identity::root("0");
    let cancelled = root.fork("0.0");
    root.join(&cancelled);
    let beside = root.fork("0.1");
    claim(&mut claims, session, &root, &Write("a")).unwrap();
    claim(&mut claims, session, &cancelled, &Write("a")).unwrap();
    assert!(claim(&mut claims, session, &beside, &Read("a")).is_err());
}
