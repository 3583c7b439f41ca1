//! Runs whose record ends as if their process had died, and what goes on with them.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use runvil_engine::{
    AccessId, Answer, EffectId, Event, FileChange, Outcome, RecordFault, Recorder, RunOutcome, RunPrepared, RunStart,
    StepRecord,
};
use runvil_harness::{
    Host, Launch, LaunchStore, OnChanged, OnUnknown, Recorded, ResumeError, Resumption, RunReport, replay,
};
use runvil_record::{Database, HostFacts, RunId, RunWriter};
use runvil_vfs::{Mount, Mounts, Store, StoreFailure, StoreOp, StoreReply};
use runvil_vfs_dir::DirBackend;

/// Keeps a run's record until it has been told so many things, then no more: as if the process had died there.
pub(crate) struct Dying {
    writer: RunWriter,
    left: AtomicI64,
}

impl Dying {
    fn told(&self) -> Result<&RunWriter, RecordFault> {
        if self.left.fetch_sub(1, Ordering::SeqCst) > 0 {
            Ok(&self.writer)
        } else {
            Err("the disk is gone".into())
        }
    }
}

impl Recorder for Dying {
    fn started(&self, start: &RunStart, source: &[u8]) -> Result<(), RecordFault> {
        self.told()?.started(start, source)
    }
    fn parsed(&self, name: Option<&str>, events: &[Event]) -> Result<(), RecordFault> {
        self.told()?.parsed(name, events)
    }
    fn prepared(&self, prepared: &RunPrepared) -> Result<(), RecordFault> {
        self.told()?.prepared(prepared)
    }
    fn stepped(&self, step: &StepRecord) -> Result<(), RecordFault> {
        self.told()?.stepped(step)
    }
    fn answered(&self, effect: EffectId, answer: &Answer) -> Result<(), RecordFault> {
        self.told()?.answered(effect, answer)
    }
    fn accessing(&self, access: AccessId, op: &StoreOp) -> Result<(), RecordFault> {
        self.told()?.accessing(access, op)
    }
    fn changing(&self, access: AccessId, change: &FileChange) -> Result<(), RecordFault> {
        self.told()?.changing(access, change)
    }
    fn accessed(&self, access: AccessId, reply: &Outcome<StoreReply, StoreFailure>) -> Result<(), RecordFault> {
        self.told()?.accessed(access, reply)
    }
    fn stopped(&self, dropped: &[EffectId]) -> Result<(), RecordFault> {
        self.told()?.stopped(dropped)
    }
    fn ended(&self, outcome: &RunOutcome, lost: &[Event]) -> Result<(), RecordFault> {
        self.told()?.ended(outcome, lost)
    }
}

pub(crate) fn record(database: &Database, calls: i64) -> (RunId, Arc<Dying>) {
    let writer = database.record(HostFacts::default()).expect("a record");
    let left = AtomicI64::new(calls);
    (writer.id(), Arc::new(Dying { writer, left }))
}

pub(crate) fn recorded(database: &Database, id: RunId) -> Recorded {
    let run = database.run(id).expect("a run");
    Recorded {
        start: run.start,
        source: run.source,
        parse_events: database.parse_events(id).expect("events"),
        prepared: run.prepared,
        outcome: run.outcome,
    }
}

/// The run repeats as it was recorded.
#[track_caller]
pub(crate) fn replays(database: &Database, id: RunId) {
    let recorded = recorded(database, id);
    let mut history = database.history(id).expect("a history");
    let replayed = replay(&recorded, &recorded.source, &mut history).expect("replayed");
    assert_eq!(replayed.divergence, None);
    assert_eq!(replayed.outcome, recorded.outcome);
}

pub(crate) async fn resume(
    host: &Host,
    database: &Database,
    id: RunId,
    store: LaunchStore,
    unknown: OnUnknown,
) -> Result<RunReport, ResumeError> {
    resume_on(host, database, id, store, unknown, OnChanged::Ask).await
}

pub(crate) async fn resume_on(
    host: &Host,
    database: &Database,
    id: RunId,
    store: LaunchStore,
    unknown: OnUnknown,
    changed: OnChanged,
) -> Result<RunReport, ResumeError> {
    let recorded = recorded(database, id);
    let launch = Launch {
        store,
        recorder: Some(Arc::new(database.resume(id).expect("nobody drives it"))),
        input: recorded.start.input.clone(),
        ..Launch::new(recorded.source.clone(), recorded.start.facts.name.clone())
    };
    let resumption = Resumption {
        recorded,
        history: Box::new(database.history(id).expect("a history")),
        unknown,
        changed,
        taken: database.summary(id).expect("a run").parent.map(|parent| parent.effect),
    };
    host.resume(launch, resumption).await?.go_on(&mut ()).await
}

pub(crate) fn directory(path: &Path) -> LaunchStore {
    let mount = Mount::new("/", DirBackend::new(path).without_sync()).expect("a mount");
    let mounts = Mounts::new([mount]).expect("mounts");
    LaunchStore::Supplied(Store::new(mounts, "/").expect("a store"))
}
