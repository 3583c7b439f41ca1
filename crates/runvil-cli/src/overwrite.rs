//! Files that a command reads, and so must not write over.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{config::Config, event_lines::EventSink, exit::Fault, files, record};

/// How many links lead from one to the next at most.
const MOST_LINKS: usize = 40;

/// The files of a run that stay as they are.
pub(crate) struct Spared {
    files: Vec<(&'static str, PathBuf)>,
    /// The folder beside the database, in which nothing else belongs.
    live: Option<PathBuf>,
}

impl Spared {
    /// The files that every run reads: its configuration and the records.
    pub(crate) fn of(config: &Config) -> Self {
        let mut spared = Self {
            files: Vec::new(),
            live: None,
        };
        for file in &config.files {
            spared.add("a configuration file", Some(file));
        }
        // Where no place for the records can be told, none is written over.
        if let Ok(database) = record::place(config) {
            let beside = |suffix: &str| {
                let mut file = database.clone().into_os_string();
                file.push(suffix);
                PathBuf::from(file)
            };
            for suffix in ["", "-wal", "-shm"] {
                spared.add("the database of the records", Some(&beside(suffix)));
            }
            spared.live = fs::canonicalize(beside("-live")).ok();
        }
        spared
    }

    /// Adds a file, if there is one. `-` is none, and neither is what has nothing to lose, such as a pipe.
    pub(crate) fn add(&mut self, what: &'static str, path: Option<&Path>) {
        let path = path.filter(|path| !files::is_stdin(path) && may_be_file(path));
        self.files.extend(path.map(|path| (what, path.to_owned())));
    }

    /// Refuses to write the run's output and its events over one of the files, or over each other.
    ///
    /// # Errors
    /// The options name such a file, however it is spelled and whichever links lead there.
    pub(crate) fn check(mut self, output: Option<&Path>, events: Option<&EventSink>) -> Result<(), Fault> {
        if let Some(output) = output {
            self.check_one(&format!("--output {}", output.display()), output)?;
            self.add("the file that --output names", Some(output));
        }
        if let Some(events) = events.and_then(|events| events.file.as_deref()) {
            self.check_one(&format!("--events jsonl:{}", events.display()), events)?;
        }
        Ok(())
    }

    fn check_one(&self, option: &str, path: &Path) -> Result<(), Fault> {
        if !may_be_file(path) {
            return Ok(());
        }
        let refused = |what: &str| Err(Fault::usage(format_args!("{option}: {what}")).with_help("name another file"));
        if self.live.is_some() && place(path).parent() == self.live.as_deref() {
            return refused("this lies in the folder of the records, beside the database");
        }
        match self.files.iter().find(|(_, file)| is_same(path, file)) {
            Some((what, _)) => refused(&format!("this is {what}, which would be overwritten")),
            None => Ok(()),
        }
    }
}

/// Whether there is a file at a path, or nothing yet. What is there is not opened: somebody may wait at the other end.
fn may_be_file(path: &Path) -> bool {
    fs::metadata(path).map_or(true, |metadata| metadata.is_file())
}

/// Whether two paths lead to one file. A file that is not there yet is known by its place.
fn is_same(one: &Path, other: &Path) -> bool {
    same_file::is_same_file(one, other).unwrap_or_else(|_| place(one) == place(other))
}

/// Where a file is, or would be made.
fn place(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(target) = fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = fs::canonicalize(folder.unwrap_or(Path::new(".")));
    match (folder, path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_the_same_however_it_is_spelled() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("d")).expect("a folder");
        fs::write(path("a"), "").expect("a file");
        fs::write(path("b"), "").expect("a file");
        fs::hard_link(path("a"), path("hard")).expect("a link");
        for same in ["a", "d/../a", "./a", "hard"] {
            assert!(is_same(&path("a"), &path(same)), "{same}");
        }
        for other in ["b", "not-there", "d/a"] {
            assert!(!is_same(&path("a"), &path(other)), "{other}");
        }
        assert!(is_same(&path("not-there"), &path("d/../not-there")));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_leads_to_its_file_also_where_that_is_not_there() {
        use std::os::unix::fs::symlink;

        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        symlink("not-there", path("one")).expect("a link");
        symlink(path("one"), path("two")).expect("a link");
        assert!(is_same(&path("not-there"), &path("two")));
        symlink("circle", path("circle")).expect("a link");
        assert!(!is_same(&path("not-there"), &path("circle")));
    }
}
