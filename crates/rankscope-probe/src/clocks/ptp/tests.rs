use super::message::tests::ANSWERS;
use super::*;

/// A ptp4l that has what one answered once.
fn played(folder: &Path, answers: Vec<Vec<u8>>) -> (std::path::PathBuf, std::thread::JoinHandle<()>) {
    let path = folder.join("ptp4l");
    let daemon = UnixDatagram::bind(&path).unwrap();
    let thread = std::thread::spawn(move || {
        let mut sequence = [0; 2];
        let mut from = None;
        for _ in 0..4 {
            let mut asked = [0; 54];
            from = Some(daemon.recv_from(&mut asked).unwrap().1);
            sequence.copy_from_slice(&asked[30..32]);
        }
        for mut bytes in answers {
            bytes[30..32].copy_from_slice(&sequence);
            // Who has heard enough is gone.
            let _gone = daemon.send_to_addr(&bytes, from.as_ref().unwrap());
        }
    });
    (path, thread)
}

fn heard(answers: Vec<Vec<u8>>, patience: Duration) -> io::Result<Following> {
    let folder = tempfile::tempdir().unwrap();
    let (path, thread) = played(folder.path(), answers);
    let said = Following::ask(&path, patience);
    thread.join().unwrap();
    said
}

fn answers(who: usize) -> Vec<Vec<u8>> {
    ANSWERS[who].map(<[u8]>::to_vec).to_vec()
}

/// The byte of the state of a port, and that of its stamps.
const STATE: usize = 64;
const STAMPING: usize = 65;
const FLAGS: usize = 56;
/// Where the mean delay of the path begins.
const CURRENT_DELAY: usize = 64;

#[test]
fn who_follows_says_whom_and_how_well() {
    let said = heard(answers(0), Duration::from_secs(60)).unwrap();
    assert_eq!(said.grandmaster.to_string(), "4e879f.fffe.3793ff");
    assert_eq!((said.steps_removed, said.ahead.as_nanos(), said.path_delay.as_nanos()), (1, -220, 2_343));
    assert_eq!((&said.clock, said.locked), (&Steered::Realtime, false));
    let compared_ns = said.compared_ns.unwrap();
    assert_eq!(said.error_max(compared_ns).as_nanos(), 220 + 2_343);
    assert_eq!(said.error_max(compared_ns + 1_000_000_000).as_nanos(), 220 + 2_343 + 100_000, "nobody steers it");
    let far = Following { steps_removed: 3, locked: true, ..said };
    assert_eq!(far.error_max(compared_ns + 1_000_000_000).as_nanos(), 220 + 3 * 2_343);
}

#[test]
fn the_grandmaster_is_right_by_definition() {
    let said = heard(answers(1), Duration::from_secs(60)).unwrap();
    assert_eq!((said.steps_removed, said.locked, said.compared_ns), (0, true, None));
    assert_eq!(said.error_max(123).as_nanos(), 0);
}

#[test]
fn a_card_counts_as_its_master_does() {
    let mut card = answers(0);
    card[3][STAMPING] = 1;
    card[1][FLAGS] = 0x08;
    let said = heard(card.clone(), Duration::from_secs(60)).unwrap();
    let ahead_of_utc = Span::from_nanos(37_000_000_000);
    assert_eq!(said.clock, Steered::Card { interface: "vB".to_owned(), ahead_of_utc });
    card[1][FLAGS] = 0;
    let said = heard(card, Duration::from_secs(60)).unwrap();
    assert_eq!(said.clock, Steered::Card { interface: "vB".to_owned(), ahead_of_utc: Span::ZERO });
}

#[test]
fn of_several_ports_the_one_that_follows_counts_in_any_order() {
    let mut leading = answers(0)[3].clone();
    (leading[STATE], leading[STAMPING]) = (PORT_MASTER, 1);
    let following = answers(0)[3].clone();
    for ports in [[leading.clone(), following.clone()], [following, leading]] {
        let said = heard([&answers(0)[..3], &ports].concat(), Duration::from_millis(500)).unwrap();
        assert_eq!(said.clock, Steered::Realtime);
    }
}

#[test]
fn who_follows_nobody_is_no_witness() {
    let mut lost = answers(0);
    lost[3][STATE] = 4;
    assert!(heard(lost, Duration::from_millis(300)).is_err(), "it listens for a master");
    let mut unmeasured = answers(0);
    unmeasured[0][CURRENT_DELAY..CURRENT_DELAY + 8].fill(0);
    assert!(heard(unmeasured, Duration::from_millis(300)).is_err(), "it has not measured the path");
    let mut alone = answers(1);
    alone[3][STATE] = 4;
    assert!(heard(alone, Duration::from_millis(300)).is_err(), "it has not taken the lead");
    assert!(heard(answers(0)[..3].to_vec(), Duration::from_millis(300)).is_err(), "no port answers");
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(Following::ask(&folder.path().join("none"), Duration::ZERO).unwrap_err().kind(), ErrorKind::NotFound);
}
