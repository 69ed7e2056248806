use super::*;
use crate::learn::codec::{Reader, Writer};

#[test]
fn an_observation_that_is_terminal_at_times_counts_once() {
    let mut seen = Transitions::new();
    let (acted, ended) = (seen.meet(0, 2), seen.meet(0, 0));
    seen.record(acted, 0, acted, false, None, false);
    seen.record(acted, 1, ended, false, None, false);
    // two steps and one visit of the terminal state, all of the same observation
    assert_eq!(seen.visits(), [0, 3, 3]);
    assert_eq!(seen.mean_log_visits(), 4f64.ln());
}

#[test]
fn actions_that_lead_on_are_expected_to_do_so_again() {
    let mut seen = Transitions::new();
    let nodes: Vec<usize> = (0..4).map(|s| seen.meet(s, 2)).collect();
    for k in 0..3 {
        seen.record(nodes[k], 0, nodes[k], false, None, false);
        seen.record(nodes[k], 1, nodes[k + 1], true, None, false);
        // a second try says nothing of first ones
        seen.record(nodes[k], 1, nodes[k + 1], false, None, false);
    }
    assert_eq!(seen.novelty_of_action(0), 1.0 / 5.0);
    assert_eq!(seen.novelty_of_action(1), 4.0 / 5.0);
    assert_eq!(seen.novelty_of_action(2), 0.5);
}

#[test]
fn what_is_saved_is_loaded_bit_by_bit() {
    let mut seen = Transitions::new();
    let (a, b) = (seen.meet(7, 2), seen.meet(3, 3));
    seen.start(a);
    seen.record(a, 1, b, true, None, false);
    let end = seen.meet(3, 0);
    seen.record(b, 2, end, false, None, false);
    seen.record(a, 1, a, false, Some(b as u32), true);
    seen.start(b);
    assert!(seen.forbid(b, 0) && !seen.forbid(b, 0) && !seen.forbid(b, 2));
    let before = seen.clone();
    assert!(seen.forbid(b, 1) && seen.permit(b, 1) && !seen.permit(b, 1));
    assert_eq!(seen, before, "what was put back is as it was");
    let mut writer = Writer::default();
    seen.save(&mut writer);
    let bytes = writer.into_bytes();
    let mut reader = Reader::new(&bytes);
    assert_eq!(Transitions::load(&mut reader).unwrap(), seen);
    reader.end().unwrap();
    for short in 0..bytes.len() {
        assert!(Transitions::load(&mut Reader::new(&bytes[..short])).is_err());
    }
}
