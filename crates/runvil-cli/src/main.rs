//! The `runvil` command line: runs prompts, checks them, and tests them.

mod answer;
mod args;
mod asked;
mod budget;
mod cause;
mod changes;
mod commands;
mod config;
mod diagnostic;
mod difference;
mod ending;
mod event_lines;
mod exit;
mod file_limit;
mod files;
mod heap;
mod hold;
mod live;
mod local;
mod logging;
mod models;
mod narrate;
mod nearest;
mod operator;
mod out;
mod output;
mod overwrite;
mod packs;
mod progress;
mod question;
mod record;
mod recorded;
mod remedy;
mod repeat;
mod runtime;
mod screen;
mod signals;
mod store;
mod table;
mod taken_over;
mod telemetry;
mod timeline;
mod usage;
mod watch;
mod when;

use clap::Parser as _;
use tracing_subscriber::filter::LevelFilter;

use args::{Cli, Command};
use telemetry::Telemetry;

fn main() -> std::process::ExitCode {
    heap::share();
    file_limit::tell();
    let Cli { command } = Cli::parse();
    let telemetry = match Telemetry::start() {
        Ok(telemetry) => telemetry,
        Err(fault) => {
            fault.print();
            return fault.exit().leave();
        }
    };
    let level = match &command {
        // Cases fail Packs and tools on purpose.
        Command::Test(_) => LevelFilter::OFF,
        Command::Run(args) if args.drive.show.quiet => LevelFilter::ERROR,
        Command::Resume(args) if args.drive.show.quiet => LevelFilter::ERROR,
        Command::Fork(args) if args.drive.show.quiet => LevelFilter::ERROR,
        _ => LevelFilter::WARN,
    };
    logging::start(level, &telemetry);
    let exit = match command {
        Command::Run(args) => commands::run::run(&args),
        Command::Replay(args) => commands::replay::replay(&args),
        Command::Resume(args) => commands::resume::resume(&args),
        Command::Fork(args) => commands::fork::fork(&args),
        Command::Runs(args) => commands::runs::runs(&args),
        Command::Show(args) => commands::show::show(&args),
        Command::Diff(args) => commands::diff::diff(&args),
        Command::Prune(args) => commands::prune::prune(&args),
        Command::Check(args) => commands::check::check(&args),
        Command::Contract(args) => commands::contract::contract(&args),
        Command::Test(args) => commands::test::test(&args),
        Command::Model(args) => commands::model::model(&args),
        Command::New(args) => commands::new::new(&args),
        Command::Models(args) => commands::models::models(&args),
        Command::Completions(args) => commands::completions::completions(&args),
        Command::Man(args) => commands::man::man(&args),
    };
    let exit = exit.unwrap_or_else(|fault| {
        fault.print();
        fault.exit()
    });
    telemetry.finish();
    exit.leave()
}
