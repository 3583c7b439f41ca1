//! The journal of a run that is driven: a file beside the database that takes what the recorder is told, before the
//! database does. It is the run's lock, too: whoever drives or deletes the run holds it, until it lets go or dies.
//!
//! A journal is a mark and then frames. A frame is a header (the payload's length and checksum, and a checksum of these)
//! and its payload. It is written in one piece and never changed, so that only the last one can be torn, and a torn one
//! was never acknowledged.

use std::{
    ffi::OsStr,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use crate::{Durability, RecordError, RunId, change::Frame};

/// What a journal begins with. The last byte is the version of its form.
const MARK: [u8; 8] = *b"RnVlJrn\x01";

/// The header of a frame: length, checksum of the payload, checksum of those two, each as four bytes, the lowest first.
const HEADER: usize = 12;

/// How long taking a lock waits for somebody who only looks at it.
const PATIENCE: Duration = Duration::from_millis(300);

/// The end of a journal's name, behind the run's id.
const EXTENSION: &str = "journal";

/// The journal of a run, locked.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    /// Closing it lets the lock go.
    file: File,
    /// How many bytes stand in the file, all of them whole frames. 0 before the mark was written.
    length: u64,
    durability: Durability,
    /// Where a frame is put together.
    buffer: Vec<u8>,
}

/// What a journal holds.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// The frames up to the first that is damaged.
    pub(crate) frames: Vec<Frame>,
    /// What is wrong behind them; a torn end is not.
    pub(crate) damage: Option<String>,
}

/// What taking a lock comes to.
enum Taken {
    Locked(File),
    Held,
    /// It was removed at the same moment.
    Gone,
}

impl Journal {
    /// Takes the journal of a run, for the database at `database`, and makes it where there is none.
    ///
    /// # Errors
    /// [`RecordError::Live`] while somebody else holds it; its folder or file cannot be made.
    pub(crate) fn take(database: &Path, run: RunId, durability: Durability) -> Result<Self, RecordError> {
        let folder = folder(database);
        let path = folder.join(format!("{run}.{EXTENSION}"));
        let begun = Instant::now();
        loop {
            make_folder(&folder).map_err(|error| failed(&folder, error))?;
            match lock(&path, options().create(true)).map_err(|error| failed(&path, error))? {
                Taken::Locked(file) => {
                    if durability == Durability::Power {
                        sync_folder(&folder).map_err(|error| failed(&folder, error))?;
                    }
                    return Self::of(path, file, durability);
                }
                Taken::Gone => {}
                Taken::Held if begun.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(5)),
                Taken::Held => return Err(RecordError::Live(run)),
            }
        }
    }

    /// The journals that nobody holds, and the runs that they are of. Those that cannot be opened are passed over.
    pub(crate) fn left_behind(database: &Path) -> impl Iterator<Item = (RunId, Self)> {
        let entries = fs::read_dir(folder(database)).into_iter().flatten().flatten();
        entries.filter_map(|entry| {
            let path = entry.path();
            let run = run_of(&path)?;
            match lock(&path, &options()) {
                Ok(Taken::Locked(file)) => Some((run, Self::of(path, file, Durability::default()).ok()?)),
                _ => None,
            }
        })
    }

    /// Whether somebody holds the journal of a run.
    ///
    /// # Errors
    /// The lock cannot be looked at.
    pub(crate) fn is_held(database: &Path, run: RunId) -> Result<bool, RecordError> {
        let path = folder(database).join(format!("{run}.{EXTENSION}"));
        let look = || match File::open(&path) {
            // Several may look at once.
            Ok(file) => match file.try_lock_shared() {
                Ok(()) => Ok(false),
                Err(TryLockError::WouldBlock) => Ok(true),
                Err(TryLockError::Error(error)) => Err(error),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        };
        look().map_err(|error| failed(&path, error))
    }

    fn of(path: PathBuf, file: File, durability: Durability) -> Result<Self, RecordError> {
        let length = file.metadata().map_err(|error| failed(&path, error))?.len();
        Ok(Self {
            path,
            file,
            length,
            durability,
            buffer: Vec::new(),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// How many bytes it takes.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// What it holds. From here on frames are written behind the last whole one.
    pub(crate) fn read(&mut self) -> Result<Contents, RecordError> {
        let mut bytes = Vec::new();
        let mut read = || {
            self.file.rewind()?;
            self.file.read_to_end(&mut bytes)
        };
        read().map_err(|error| failed(&self.path, error))?;
        Ok(contents(&bytes))
    }

    /// Writes a frame. It is kept once this returns.
    ///
    /// # Errors
    /// The file cannot be written. What was kept before stays.
    pub(crate) fn append(&mut self, frame: &Frame) -> Result<usize, RecordError> {
        self.buffer.clear();
        if self.length == 0 {
            self.buffer.extend_from_slice(&MARK);
        }
        encode(frame, &mut self.buffer);
        let written = self.file.write_all(&self.buffer).and_then(|()| match self.durability {
            Durability::Process => Ok(()),
            Durability::Power => self.file.sync_data(),
        });
        if let Err(error) = written {
            // What stands behind the last whole frame is torn, and passed over by whoever reads it.
            let _ = self.cut(self.length);
            return Err(failed(&self.path, error));
        }
        self.length += self.buffer.len() as u64;
        Ok(self.buffer.len())
    }

    /// Empties it, since the database has all that it holds.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn clear(&mut self) -> Result<(), RecordError> {
        self.cut(0).map_err(|error| failed(&self.path, error))
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.file.set_len(length)?;
        self.file.seek(SeekFrom::Start(length))?;
        self.length = length;
        Ok(())
    }

    /// Whether it is still what others find at its path, and lock.
    pub(crate) fn is_in_place(&self) -> bool {
        is_at(&self.file, &self.path).unwrap_or_default()
    }

    /// Gives it up for good, since the database has all that it holds.
    pub(crate) fn remove(self) {
        // One that stays is passed over: all of its frames are old.
        let _ = fs::remove_file(&self.path);
    }
}

/// Puts a frame behind what is in the buffer.
fn encode(frame: &Frame, buffer: &mut Vec<u8>) {
    let start = buffer.len();
    buffer.resize(start + HEADER, 0);
    postcard::to_io(frame, &mut *buffer).expect("a frame can be written into memory");
    let (header, payload) = buffer[start..].split_at_mut(HEADER);
    let length = u32::try_from(payload.len()).expect("a frame holds less than 4 GiB");
    header[..4].copy_from_slice(&length.to_le_bytes());
    header[4..8].copy_from_slice(&crc32fast::hash(payload).to_le_bytes());
    let check = crc32fast::hash(&header[..8]);
    header[8..].copy_from_slice(&check.to_le_bytes());
}

/// What the bytes of a journal hold.
fn contents(bytes: &[u8]) -> Contents {
    let mut contents = Contents::default();
    let Some(mark) = bytes.first_chunk() else {
        return contents;
    };
    if *mark != MARK {
        contents.damage = Some("it begins with something else than a journal's mark".to_owned());
        return contents;
    }
    let mut at = MARK.len();
    loop {
        match next_frame(&bytes[at..]) {
            Next::Frame(frame, length) => {
                contents.frames.push(frame);
                at += length;
            }
            Next::End => return contents,
            Next::Damaged => {
                contents.damage = Some(format!("the frame at byte {at} is not what was written"));
                return contents;
            }
        }
    }
}

enum Next {
    Frame(Frame, usize),
    /// There are no more, or the last is torn.
    End,
    Damaged,
}

fn next_frame(bytes: &[u8]) -> Next {
    let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() else {
        return Next::End;
    };
    let number = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    if crc32fast::hash(&header[..8]) != number(8) {
        // After a loss of power the end of a file may be zeros.
        let is_blank = bytes.iter().all(|byte| *byte == 0);
        return if is_blank { Next::End } else { Next::Damaged };
    }
    let length = usize::try_from(number(0)).unwrap_or(usize::MAX);
    let Some(payload) = rest.get(..length) else {
        return Next::End;
    };
    if crc32fast::hash(payload) != number(4) {
        let is_last = rest.len() == length;
        return if is_last { Next::End } else { Next::Damaged };
    }
    match postcard::from_bytes(payload) {
        Ok(frame) => Next::Frame(frame, HEADER + length),
        Err(_) => Next::Damaged,
    }
}

/// Opens and locks the file at a path, which is its own before and after that.
fn lock(path: &Path, options: &OpenOptions) -> io::Result<Taken> {
    let file = match options.open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Taken::Gone),
        Err(error) => return Err(error),
    };
    match file.try_lock() {
        // Whoever held it may have removed it in between; then its lock keeps nobody out.
        Ok(()) if is_at(&file, path)? => Ok(Taken::Locked(file)),
        Ok(()) => Ok(Taken::Gone),
        Err(TryLockError::WouldBlock) => Ok(Taken::Held),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let there = match same_file::Handle::from_path(path) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    Ok(same_file::Handle::from_file(file.try_clone()?)? == there)
}

/// How a journal is opened: it is its user's alone.
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// The folder of the journals, beside the database.
fn folder(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push("-live");
    name.into()
}

/// The run that the file at a path is the journal of.
fn run_of(path: &Path) -> Option<RunId> {
    if path.extension() != Some(OsStr::new(EXTENSION)) {
        return None;
    }
    path.file_stem()?.to_str()?.parse().ok()
}

fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Has the folder and the names in it survive the loss of power. Where a folder cannot be opened like a file, they do
/// anyway.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    File::open(folder)?.sync_all()?;
    match folder.parent().filter(|above| !above.as_os_str().is_empty()) {
        Some(above) => File::open(above)?.sync_all(),
        None => File::open(".")?.sync_all(),
    }
}

fn failed(path: &Path, source: io::Error) -> RecordError {
    RecordError::from_io(path, source)
}
