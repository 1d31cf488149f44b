use proptest::prelude::*;

use super::*;

fn written(knowledge: Knowledge, message: &Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.write(knowledge, &mut bytes);
    bytes
}

proptest! {
    #[test]
    fn messages_come_out_as_they_went_in(
        term in prop::option::of(0..u32::MAX),
        numbers in any::<(u64, u64, u64)>(),
        bytes in prop::collection::vec(any::<u8>(), 0..PART_LEN),
        parts in 1..=PARTS_MAX as u8,
        part in any::<u8>(),
    ) {
        let (known, round, got) = numbers;
        let knowledge = Knowledge { term: term.map(Term), round: known };
        let messages = [
            Message::Reign { live: &bytes },
            Message::Alive { ping: round % 2 == 0 },
            Message::RoundEnd { round, live: &bytes },
            Message::RoundAck { round },
            Message::Part { round, part: part % parts, parts, bytes: &bytes },
            Message::PartAck { round, got },
            Message::ResultAck { round },
            Message::Leave,
        ];
        for message in messages {
            let body = written(knowledge, &message);
            prop_assert!(body.len() <= BODY_MAX);
            prop_assert_eq!(read(&body), Some((knowledge, message)));
        }
    }

    #[test]
    fn any_body_is_read_without_harm(body in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Some((knowledge, message)) = read(&body) {
            let again = written(knowledge, &message);
            prop_assert_eq!(read(&again), Some((knowledge, message)));
        }
    }
}

#[test]
fn parts_that_cannot_be_are_refused() {
    for (part, parts) in [(0, 0), (1, 1), (255, 255), (64, 65), (0, 65)] {
        let message = Message::Part { round: 1, part, parts, bytes: &[1] };
        assert_eq!(read(&written(Knowledge::default(), &message)), None, "part {part} of {parts}");
    }
}
