//! What the kernel keeps and is true no more: told to whoever passes it on to the kernel.

use std::ffi::OsStr;
use std::sync::mpsc::{Receiver, Sender, channel};

use parking_lot::Mutex;

use super::ino::{Ino, View};

/// Something that was told and is true no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outdated {
    /// What is under this name in this folder.
    Name(Ino, Box<OsStr>),
    /// What is in this folder, and its own attributes.
    Folder(Ino),
}

pub(super) struct Notices {
    sender: Sender<Outdated>,
    receiver: Mutex<Option<Receiver<Outdated>>>,
    /// The trees that anybody has looked into: what is outdated is so in each of them.
    views: Mutex<Vec<View>>,
}

impl Notices {
    pub(super) fn new() -> Notices {
        let (sender, receiver) = channel();
        let (receiver, views) = (Mutex::new(Some(receiver)), Mutex::new(vec![View::Plain]));
        Notices { sender, receiver, views }
    }

    /// Somebody looks into this tree.
    pub(super) fn seen(&self, view: View) {
        let mut views = self.views.lock();
        if !views.contains(&view) {
            views.push(view);
        }
    }

    /// The name of a folder stands for something else now.
    pub(super) fn name(&self, folder: u64, name: &OsStr) {
        self.each_view(|view| Outdated::Name(Ino::new(view, folder), name.into()));
    }

    /// A folder has other names or attributes now.
    pub(super) fn folder(&self, folder: u64) {
        self.each_view(|view| Outdated::Folder(Ino::new(view, folder)));
    }

    fn each_view(&self, outdated: impl Fn(View) -> Outdated) {
        for view in self.views.lock().iter() {
            // Nobody listens when the mount ends.
            let _ = self.sender.send(outdated(*view));
        }
    }

    /// Where they arrive: for one listener.
    pub(super) fn take_receiver(&self) -> Option<Receiver<Outdated>> {
        self.receiver.lock().take()
    }
}
