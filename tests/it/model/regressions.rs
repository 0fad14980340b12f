//! What the model once found, and what it would need luck to find.

use super::*;

fn bed(split: usize) -> Bed {
    Bed::new(Naming::Replace, split, Codec::None)
}

fn known(bed: &Bed, path: &str) -> Known {
    bed.known.iter().rfind(|known| known.path == Path::new(path)).unwrap().clone()
}

fn compare(bed: &mut Bed) {
    bed.compare(Path::new(""), Ino::ROOT, None);
}

#[test]
fn regression_a_plain_file_that_is_replaced_while_open_is_no_mixture() {
    let mut bed = bed(1);
    fs::write(bed.real(Path::new("labels")), b"old labels").unwrap();
    compare(&mut bed);
    let labels = known(&bed, "labels");
    let fh = open(&bed.fs, labels.ino).unwrap().fh;
    assert_eq!(read(&bed.fs, fh, 0, 4).unwrap(), b"old ");
    bed.change(|bed| {
        fs::write(bed.folder.path().join("next"), b"new LABELS")?;
        fs::rename(bed.folder.path().join("next"), bed.real(Path::new("labels")))
    });
    assert!(matches!(read(&bed.fs, fh, 4, 6), Err(FsError::Stale)));
    assert!(matches!(open(&bed.fs, labels.ino), Err(FsError::Stale)));
    compare(&mut bed);
    let fh = open(&bed.fs, known(&bed, "labels").ino).unwrap().fh;
    assert_eq!(read(&bed.fs, fh, 4, 60).unwrap(), b"LABELS");
    bed.change(|bed| fs::remove_file(bed.real(Path::new("labels"))));
    assert!(matches!(read(&bed.fs, fh, 0, 60), Err(FsError::Stale | FsError::Source(_))));
}

#[test]
fn regression_a_read_beyond_the_end_is_not_the_end() {
    let mut bed = bed(1);
    compare(&mut bed);
    let ino = known(&bed, "a.jpg").ino;
    let first = open(&bed.fs, ino).unwrap().fh;
    assert!(!read(&bed.fs, first, 0, 5).unwrap().is_empty());
    assert!(read(&bed.fs, first, 1 << 20, 5).unwrap().is_empty());
    bed.fs.close(first);
    let second = open(&bed.fs, ino).unwrap().fh;
    let whole = read(&bed.fs, second, 0, 1 << 20).unwrap();
    let path = Path::new("a.jpg");
    assert_eq!(whole, bed.made(path, &CONTENTS[0], bed.plan(path), 0).unwrap());
}

#[test]
fn regression_a_folder_that_became_a_file_is_none_any_more() {
    let mut bed = bed(1);
    compare(&mut bed);
    let folder = known(&bed, "b/b");
    bed.change(|bed| {
        fs::remove_dir(bed.real(Path::new("b/b")))?;
        fs::write(bed.real(Path::new("b/b")), b"a file")
    });
    assert!(matches!(attr(&bed.fs, folder.ino), Err(FsError::Stale)));
    compare(&mut bed);
    assert_ne!(known(&bed, "b/b").ino, folder.ino);
}

#[test]
fn regression_a_folder_that_comes_back_is_listed_under_its_own_number() {
    let mut bed = bed(1);
    let place = Path::new("b/b");
    for _ in 0..2 {
        compare(&mut bed);
        bed.change(|bed| {
            fs::remove_dir(bed.real(place))?;
            fs::write(bed.real(place), b"a file")
        });
        compare(&mut bed);
        bed.change(|bed| {
            fs::remove_file(bed.real(place))?;
            fs::create_dir(bed.real(place))
        });
        compare(&mut bed);
    }
}

#[test]
fn regression_an_opening_whose_source_changed_says_so_at_every_read() {
    let mut bed = bed(0);
    compare(&mut bed);
    let fh = open(&bed.fs, known(&bed, "a.jpg").ino).unwrap().fh;
    bed.change(|bed| fs::write(bed.real(Path::new("a.jpg")), &CONTENTS[1]));
    for _ in 0..3 {
        assert!(matches!(read(&bed.fs, fh, 0, 9), Err(FsError::Stale)));
    }
    bed.fs.close(fh);
    compare(&mut bed);
    let fh = open(&bed.fs, known(&bed, "a.jpg").ino).unwrap().fh;
    let path = Path::new("a.jpg");
    let expected = bed.made(path, &CONTENTS[1], bed.plan(path), 0).unwrap();
    assert_eq!(read(&bed.fs, fh, 0, 1 << 20).unwrap(), expected, "its draw came back");
}
