//! The transitions that were observed, as a part of a checkpoint.

use super::{FORBIDDEN, NONE, Transitions};
use crate::learn::codec::{Damage, Reader, Writer};

impl Transitions {
    pub(in super::super) fn save(&self, writer: &mut Writer) {
        let numbers = |writer: &mut Writer, values: &[u32]| {
            writer.number(values.len() as u64);
            values.iter().for_each(|v| writer.number(u64::from(*v)));
        };
        numbers(writer, &self.state_of);
        numbers(writer, &self.first_pair);
        for row in &self.rows {
            writer.number(row.iter().count() as u64);
            for (node, count) in row.iter() {
                writer.number(u64::from(node));
                writer.number(u64::from(count));
            }
        }
        numbers(writer, &self.starts);
        for start in &self.starts {
            writer.number(u64::from(self.begun[*start as usize]));
        }
        let forbidden = (0..self.rows.len()).filter(|pair| self.log_tries[*pair] == FORBIDDEN);
        numbers(
            writer,
            &forbidden.map(|pair| pair as u32).collect::<Vec<_>>(),
        );
        writer.number(self.truncations);
        writer.reals(&self.class_tries);
        writer.reals(&self.class_new_states);
        writer.reals(&self.single_outcome_tries);
        writer.reals(&self.single_outcome_changes);
        writer.number(self.first_tries_by_action.len() as u64);
        for (tries, new) in &self.first_tries_by_action {
            writer.number(u64::from(*tries));
            writer.number(u64::from(*new));
        }
        writer.real(self.repeat_excess);
        writer.real(self.repeat_excess_most);
    }

    pub(in super::super) fn load(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        let wrong = |what: &str| Damage::from(format!("its {what} make no sense"));
        let numbers = |reader: &mut Reader<'_>| -> Result<Vec<u32>, Damage> {
            let length = reader.length(8)?;
            let one = |_| reader.index(u32::MAX as usize + 1, "number");
            let read: Result<Vec<usize>, Damage> = (0..length).map(one).collect();
            Ok(read?.into_iter().map(|v| v as u32).collect())
        };
        let states = numbers(reader)?;
        let first_pair = numbers(reader)?;
        let mut loaded = Transitions::new();
        let shape = first_pair.len() == states.len() + 1
            && first_pair[..2] == [0, 0]
            && first_pair.windows(2).all(|pair| pair[0] <= pair[1]);
        if states.first() != Some(&NONE) || !shape {
            return Err(wrong("states"));
        }
        for (node, &state) in states.iter().enumerate().skip(1) {
            let actions = (first_pair[node + 1] - first_pair[node]) as usize;
            if state == NONE || loaded.meet(state as usize, actions) != node {
                return Err(wrong("states"));
            }
        }
        for node in 1..states.len() {
            for action in 0..loaded.n_actions(node) {
                for _ in 0..reader.length(16)? {
                    let to = reader.index(states.len(), "next state")?;
                    let count = reader.index(u32::MAX as usize, "count")?;
                    loaded.add(node, action, to, count as u64);
                }
            }
        }
        for start in numbers(reader)? {
            if start == 0 || start as usize >= states.len() {
                return Err(wrong("starts"));
            }
            loaded.starts.push(start);
        }
        for place in 0..loaded.starts.len() {
            let count = reader.index(u32::MAX as usize, "count")?;
            loaded.begun[loaded.starts[place] as usize] = count as u32;
            loaded.episodes += count as u64;
        }
        for pair in numbers(reader)? {
            let node = loaded.first_pair.partition_point(|first| *first <= pair) - 1;
            if pair as usize >= loaded.rows.len() || loaded.tries[pair as usize] > 0 {
                return Err(wrong("actions that are not allowed"));
            }
            loaded.forbid(node, (pair - loaded.first_pair[node]) as usize);
        }
        loaded.truncations = reader.number()?;
        for class in [&mut loaded.class_tries, &mut loaded.class_new_states] {
            *class = reader.reals()?.try_into().map_err(|_| wrong("classes"))?;
        }
        for few in [
            &mut loaded.single_outcome_tries,
            &mut loaded.single_outcome_changes,
        ] {
            *few = reader.reals()?.try_into().map_err(|_| wrong("tries"))?;
        }
        for _ in 0..reader.length(16)? {
            let tries = reader.index(u32::MAX as usize + 1, "number of first tries")? as u32;
            let new = reader.index(tries as usize + 1, "number of new states")? as u32;
            loaded.first_tries_by_action.push((tries, new));
        }
        loaded.repeat_excess = reader.real()?;
        loaded.repeat_excess_most = reader.real()?;
        Ok(loaded)
    }
}
