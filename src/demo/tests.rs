//! The demo photos are the same on every machine, and a run adds what is missing, no more.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;

use super::*;

fn quiet(folder: &Path, samples: usize) -> io::Result<Report> {
    photos(folder, samples, &|_| ())
}

/// Every file under a folder, by its path there.
fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().to_owned();
                found.insert(name, fs::read(path).unwrap());
            }
        }
    }
    found
}

#[test]
fn the_same_arguments_give_the_same_bytes() {
    let [one, grown] = [0, 1].map(|_| tempfile::tempdir().unwrap());
    quiet(one.path(), 13).unwrap();
    quiet(grown.path(), 4).unwrap();
    quiet(grown.path(), 13).unwrap();
    assert_eq!(files(one.path()), files(grown.path()));
}

#[test]
fn the_first_photo_is_the_same_for_ever() {
    // Whoever made a dataset with an earlier build must be able to go on with this one: other
    // bytes take another `VERSION`.
    let jpeg = photo::jpeg(0).unwrap();
    assert_eq!(blake3::hash(&jpeg).to_hex().as_str(), GOLDEN);
}

const GOLDEN: &str = "2dcb916b17d1ba8ce19b13b4c14be8cc639d4793dcc65aed147d569cf9eb0b62";

#[test]
fn photos_decode_and_are_as_large_as_photos_are() {
    let jpegs: Vec<_> = (0..40).map(|number| photo::jpeg(number).unwrap()).collect();
    let (mut bytes, mut pixels) = (0, 0);
    for jpeg in &jpegs {
        let image = libjpeg_turbo_rs::decompress(jpeg).unwrap();
        assert!((200..=500).contains(&image.width) && (200..=500).contains(&image.height));
        let luma = image.data.iter().map(|byte| f64::from(*byte)).sum::<f64>();
        let mean = luma / image.data.len() as f64;
        assert!((20.0..235.0).contains(&mean), "a mean of {mean}");
        bytes += jpeg.len();
        pixels += image.width * image.height;
    }
    let mean = bytes / jpegs.len();
    assert!((90_000..130_000).contains(&mean), "{mean} bytes");
    let bits = bytes as f64 * 8.0 / pixels as f64;
    assert!((4.0..6.0).contains(&bits), "{bits} bits per pixel");
}

#[test]
fn every_class_has_a_folder_and_every_photo_a_label() {
    let folder = tempfile::tempdir().unwrap();
    quiet(folder.path(), 12).unwrap();
    let labels = fs::read_to_string(folder.path().join("labels.csv")).unwrap();
    let rows: Vec<_> = labels.lines().skip(1).map(|row| row.split_once(',').unwrap()).collect();
    assert_eq!(
        rows[..3],
        [
            ("train/bark/bark_0001.jpg", "bark"),
            ("train/bark/bark_0002.jpg", "bark"),
            ("train/cloud/cloud_0001.jpg", "cloud")
        ]
    );
    assert_eq!(rows.len(), 12);
    assert!(rows.iter().all(|(path, _)| folder.path().join(path).is_file()));
    assert_eq!(fs::read_dir(folder.path().join("train")).unwrap().count(), 10);
    // Nothing else is there but the marker: no file that was only half written.
    assert_eq!(files(folder.path()).len(), 14);
}

#[test]
fn a_second_run_makes_only_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let first = quiet(folder.path(), 5).unwrap();
    assert_eq!((first.photos, first.written), (5, 5));
    assert_eq!(quiet(folder.path(), 5).unwrap(), Report { written: 0, ..first });

    let before = files(folder.path());
    fs::remove_file(folder.path().join("train/fern/fern_0001.jpg")).unwrap();
    fs::write(folder.path().join("train/dune/dune_0001.jpg"), "").unwrap();
    fs::write(folder.path().join("train/fern/.fern_0001.jpg.part"), "half").unwrap();
    assert_eq!(quiet(folder.path(), 5).unwrap(), Report { written: 2, ..first });
    assert_eq!(files(folder.path()), before);

    // Asking for fewer takes nothing away, not even their labels.
    assert_eq!(quiet(folder.path(), 2).unwrap().photos, 2);
    assert_eq!(files(folder.path()), before);
}

#[test]
fn progress_counts_every_photo_once() {
    let folder = tempfile::tempdir().unwrap();
    let told = Mutex::new(Vec::new());
    photos(folder.path(), 6, &|done| told.lock().unwrap().push(done)).unwrap();
    let mut told = told.into_inner().unwrap();
    told.sort_unstable();
    assert_eq!(told, [1, 2, 3, 4, 5, 6]);
}

#[test]
fn what_is_not_ours_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("thesis.tex"), "precious").unwrap();
    assert_eq!(quiet(folder.path(), 1).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(files(folder.path()).len(), 1);

    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(".parbake-demo"), "parbake demo photos, version 0\n").unwrap();
    assert_eq!(quiet(folder.path(), 1).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(files(folder.path()).len(), 1);
}

#[test]
fn what_cannot_be_written_is_an_error_and_a_next_run_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("made/train/bark/.bark_0001.jpg.part")).unwrap();
    fs::write(folder.path().join("made/.parbake-demo"), "").unwrap();
    let made = folder.path().join("made");
    quiet(&made, 3).unwrap_err();
    fs::remove_dir(made.join("train/bark/.bark_0001.jpg.part")).unwrap();
    assert_eq!(quiet(&made, 3).unwrap().photos, 3);
}
