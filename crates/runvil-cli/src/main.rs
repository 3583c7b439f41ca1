//! The `runvil` command line: runs prompts, checks them, and tests them.

mod args;
mod commands;
mod config;
mod diagnostic;
mod exit;
mod files;
mod live;
mod local;
mod logging;
mod models;
mod operator;
mod out;
mod signals;
mod store;

use clap::Parser as _;
use tracing_subscriber::filter::LevelFilter;

use args::{Cli, Command};

fn main() -> std::process::ExitCode {
    let Cli { command } = Cli::parse();
    logging::start(match command {
        // Cases fail Packs and tools on purpose.
        Command::Test(_) => LevelFilter::OFF,
        _ => LevelFilter::WARN,
    });
    let exit = match command {
        Command::Run(args) => commands::run::run(&args),
        Command::Check(args) => commands::check::check(&args),
        Command::Contract(args) => commands::contract::contract(&args),
        Command::Test(args) => commands::test::test(&args),
        Command::Model(args) => commands::model::model(&args),
    };
    let exit = exit.unwrap_or_else(|fault| {
        fault.print();
        fault.exit()
    });
    exit.leave()
}
