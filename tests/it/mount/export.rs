//! `parbake export` beside a mount of the same config: `diff` and `rsync` find nothing to say.

use std::fs;

use super::bed::{Bed, FIXED, RANDOM, SAMPLES, errno, run};

#[test]
fn an_export_is_what_the_mount_serves() {
    let Some(bed) = Bed::mounted(RANDOM) else { return };
    for epoch in [0, 5] {
        let folder = bed.folder().join(format!("export-{epoch}"));
        let (config, epoch_word) = (bed.config(), epoch.to_string());
        let export = || {
            let mut command = bed.parbake(["export", "--epoch", &epoch_word]);
            command.arg(&config).arg(&folder);
            String::from_utf8(run(&mut command).stderr).unwrap()
        };
        let said = export();
        assert!(said.contains("5 of 5 files are in "), "{said}");
        for (_, served) in SAMPLES {
            assert_eq!(fs::read(folder.join(served)).unwrap(), bed.read_pinned(epoch, served));
        }
        let view = bed.mountpoint().join(format!(".parbake/epoch/{epoch}"));
        run(std::process::Command::new("diff")
            .args(["-r", "-x", ".parbake-export"])
            .arg(&view)
            .arg(&folder));
        let said = export();
        assert!(said.contains(", 0 B written now"), "what is there is left: {said}");
        fs::write(folder.join(SAMPLES[0].1), b"damaged").unwrap();
        let _ = export();
        assert_eq!(
            fs::read(folder.join(SAMPLES[0].1)).unwrap(),
            bed.read_pinned(epoch, SAMPLES[0].1)
        );
    }
}

#[test]
fn a_bad_sample_costs_an_export_that_one() {
    let Some(bed) = Bed::new(FIXED, "npy") else { return };
    bed.write("cat/bad.jpg", b"no picture");
    let folder = bed.folder().join("export");
    let mut command = bed.parbake(["export"]);
    let ended = command.arg(bed.config()).arg(&folder).output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(3), "{said}");
    assert!(said.contains("cat/bad.jpg: step 1 `decode_image`: "), "{said}");
    assert!(said.contains("5 of 6 files are in "), "{said}");
    assert_eq!(errno(fs::metadata(folder.join("cat/bad.npy"))), nix::errno::Errno::ENOENT);
    assert_eq!(fs::read_dir(folder.join("cat")).unwrap().count(), 2, "nothing half-written");
}

#[test]
fn a_folder_of_anything_else_is_refused_and_left_alone() {
    let Some(bed) = Bed::new(FIXED, "npy") else { return };
    let folder = bed.folder().join("export");
    let code = || {
        let mut command = bed.parbake(["export"]);
        command.arg(bed.config()).arg(&folder).output().unwrap().status.code()
    };
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("mine"), b"mine").unwrap();
    assert_eq!(code(), Some(2));
    fs::remove_file(folder.join("mine")).unwrap();
    assert_eq!(code(), Some(0));
    bed.change_config("[32, 40]", "[30, 40]");
    let before = fs::read(folder.join(SAMPLES[0].1)).unwrap();
    assert_eq!(code(), Some(2));
    assert_eq!(fs::read(folder.join(SAMPLES[0].1)).unwrap(), before);
}

#[test]
fn an_export_into_the_source_is_refused() {
    let Some(bed) = Bed::new(FIXED, "npy") else { return };
    let mut command = bed.parbake(["export"]);
    let ended = command.arg(bed.config()).arg(bed.source("export")).output().unwrap();
    assert_eq!(ended.status.code(), Some(2));
    assert!(!bed.source("export").exists());
}
