//! How many tokens a second a real model reads and writes.
//!
//! ```sh
//! RUNVIL_TEST_MODEL=FILE.gguf cargo bench -p runvil-local --features inference --bench tokens
//! ```
//!
//! To compare with llama.cpp, run its own measurement of the same file beside it, on as many threads as this machine has
//! cores (or as `RUNVIL_TEST_THREADS` says for the one above):
//!
//! ```sh
//! llama-bench --model FILE.gguf --threads 2 --n-prompt 256 --n-gen 128
//! ```
//!
//! Its `pp256` is what is read here, and its `tg128` what is written. A figure counts only beside one of the same
//! minutes: both take the whole machine, and each other's time.

use std::{env, error::Error, path::PathBuf, time::Duration};

use runvil_engine::{
    ModelReply, ModelRound,
    wire::{ChatRequest, Message, Role},
};
use runvil_local::{Library, LocalModels, LocalOptions, Sampling};
use runvil_model::{ModelBackend as _, RoundLimits};

/// How often each figure is taken; the best one counts, since other work on the machine only slows it down.
const TIMES: usize = 5;

const LIMITS: RoundLimits = RoundLimits {
    max_response_bytes: 1 << 20,
    receive_timeout: Duration::from_secs(600),
};

fn main() -> Result<(), Box<dyn Error>> {
    let Some(file) = env::var_os("RUNVIL_TEST_MODEL").map(PathBuf::from) else {
        println!("nothing is measured: RUNVIL_TEST_MODEL names no GGUF file");
        return Ok(());
    };
    let folder = tempfile::tempdir()?;
    let library = Library::new(folder.path());
    library.add(&"bench".parse()?, &file)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let greedy = Sampling {
        temperature: 0.0,
        ..Sampling::default()
    };
    let threads = env::var("RUNVIL_TEST_THREADS")
        .ok()
        .map(|count| count.parse())
        .transpose()?;
    let (mut reading, mut writing) = (0.0_f64, 0.0_f64);
    for time in 0..TIMES {
        let models = LocalModels::new(
            library.clone(),
            LocalOptions {
                sampling: [("bench".parse()?, greedy.clone())].into(),
                threads,
                ..LocalOptions::default()
            },
        );
        let reply = runtime.block_on(models.complete(&round(time)?, LIMITS, &mut |_| {}))?;
        let (read, written) = rates(&reply).ok_or("a reply without figures")?;
        println!("reads {read:.1} tokens a second, writes {written:.1}");
        reading = reading.max(read);
        writing = writing.max(written);
    }
    println!("best: reads {reading:.1} tokens a second, writes {writing:.1}");
    Ok(())
}

/// A request of some 250 tokens that asks for a long reply.
fn round(time: usize) -> Result<ModelRound, Box<dyn Error>> {
    let text = "The ship sails across the sea and the crew sings. ".repeat(19);
    let text = format!("{text}Write a long story about this ship, with many details. Chapter {time}.");
    Ok(ModelRound {
        round: serde_json::from_str("\"bench#0\"")?,
        model: "local/bench".to_owned().try_into()?,
        live: true,
        request: ChatRequest {
            model: "bench".to_owned(),
            messages: vec![Message::text(Role::User, text)],
            tools: Vec::new(),
            temperature: None,
            max_tokens: Some(128),
            thinking: None,
        },
        debug: false,
    })
}

fn rates(reply: &ModelReply) -> Option<(f64, f64)> {
    let metrics = reply.metrics.as_ref()?;
    let number = |section: &str, name: &str| metrics.get(section)?.get(name)?.as_f64();
    let read = number("usage", "prompt_tokens")? / number("timings", "prompt_ms")?;
    let written = number("usage", "completion_tokens")? / number("timings", "predicted_ms")?;
    Some((read * 1e3, written * 1e3))
}
