//! What changes in a folder, as the system tells it; where it does not, a look at intervals.

use std::path::Path;
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, CreateKind, ModifyKind};
use notify::{Config, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;

use super::folder::Folder;

/// Something that was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// Something at a path, or below it, changed.
    Changed(String),
    /// A file was written to, and its writer may go on.
    Written(String),
    /// A file's writer closed it.
    Closed(String),
    /// Anything may have changed.
    Anything,
}

/// How the folder is followed.
pub enum Events {
    /// The system tells.
    Told {
        told: mpsc::UnboundedReceiver<Told>,
        _watcher: RecommendedWatcher,
    },
    /// A look every so often.
    Polled(Duration),
}

/// How often to look at a folder of which the system tells nothing, if nobody says.
pub const POLL: Duration = Duration::from_secs(5);
/// How often to look at one of which it does: network folders tell only what this machine does.
const LOOK: Duration = Duration::from_mins(5);

impl Events {
    /// Follows a folder; by looking, where `poll` says so. The reason, if the system cannot tell.
    pub fn of(folder: &Folder, poll: Option<Duration>) -> (Self, Option<String>) {
        if let Some(every) = poll {
            return (Events::Polled(every), None);
        }
        match told(folder) {
            Ok(events) => (events, None),
            Err(error) => (Events::Polled(POLL), Some(error.to_string())),
        }
    }

    /// How long until the whole folder is looked at, whatever was told.
    pub fn look_every(&self) -> Duration {
        match self {
            Events::Told { .. } => LOOK,
            Events::Polled(every) => *every,
        }
    }

    /// How it is followed, for people.
    pub fn how(&self) -> String {
        match self {
            Events::Told { .. } => "as the system tells".to_owned(),
            Events::Polled(every) => format!("by a look every {} s", every.as_secs_f64()),
        }
    }

    /// What was told next; never, if nothing is told.
    pub async fn next(&mut self) -> Told {
        match self {
            Events::Told { told, .. } => told.recv().await.unwrap_or(Told::Anything),
            Events::Polled(_) => std::future::pending().await,
        }
    }
}

fn told(folder: &Folder) -> notify::Result<Events> {
    let (tell, told) = mpsc::unbounded_channel();
    let here = folder.clone();
    let watcher = RecommendedWatcher::new(
        move |event| {
            for told in meaning(&here, event) {
                // Nobody listens any more once the folder is no longer followed.
                let _ = tell.send(told);
            }
        },
        Config::default().with_follow_symlinks(false),
    );
    let mut watcher = watcher?;
    watcher.watch(folder.path(), RecursiveMode::Recursive)?;
    Ok(Events::Told {
        told,
        _watcher: watcher,
    })
}

/// What an event means for the documents in the folder.
fn meaning(folder: &Folder, event: notify::Result<Event>) -> Vec<Told> {
    let Ok(event) = event else {
        return vec![Told::Anything];
    };
    if event.need_rescan() {
        return vec![Told::Anything];
    }
    let told: fn(String) -> Told = match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => Told::Closed,
        EventKind::Access(_) => return Vec::new(),
        EventKind::Create(CreateKind::File) | EventKind::Modify(ModifyKind::Data(_)) => {
            Told::Written
        }
        _ => Told::Changed,
    };
    let is_folder = |path: &Path| path == folder.path();
    if event.paths.iter().any(|path| is_folder(path)) {
        return vec![Told::Anything];
    }
    let paths = event.paths.iter().filter_map(|path| folder.below(path));
    paths.map(told).collect()
}

#[cfg(test)]
mod tests {
    use notify::event::{DataChange, Flag, RemoveKind};

    use super::*;

    #[test]
    fn a_folder_that_the_system_cannot_tell_of_is_looked_at_instead() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::at(place.path()).unwrap();
        drop(place);

        let (events, why) = Events::of(&folder, None);

        assert!(matches!(events, Events::Polled(POLL)));
        assert!(why.is_some());
    }

    #[test]
    fn only_what_concerns_documents_of_the_folder_is_told() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::at(place.path()).unwrap();
        let event = |kind, path: &str| Ok(Event::new(kind).add_path(folder.path().join(path)));
        let told = |event| meaning(&folder, event);
        let closed = EventKind::Access(AccessKind::Close(AccessMode::Write));
        let opened = EventKind::Access(AccessKind::Open(AccessMode::Any));
        let data = EventKind::Modify(ModifyKind::Data(DataChange::Any));
        let removed = EventKind::Remove(RemoveKind::File);

        assert_eq!(
            told(event(data, "a.md")),
            [Told::Written("a.md".to_owned())]
        );
        assert_eq!(
            told(event(closed, "a.md")),
            [Told::Closed("a.md".to_owned())]
        );
        assert_eq!(
            told(event(removed, "b/a.md")),
            [Told::Changed("b/a.md".to_owned())]
        );
        assert_eq!(told(event(removed, "")), [Told::Anything]);
        for (kind, path) in [(opened, "a.md"), (data, ".a.md"), (data, "../a.md")] {
            assert!(told(event(kind, path)).is_empty(), "{kind:?} {path}");
        }
        let overflow = Event::new(EventKind::Other).set_flag(Flag::Rescan);
        assert_eq!(told(Ok(overflow)), [Told::Anything]);
    }
}
