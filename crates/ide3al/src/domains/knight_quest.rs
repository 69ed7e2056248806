//! Knight Quest: gold, a key or armour from the town, a wandering dragon, a princess.
//!
//! Source: Fruit, Pirotta and Lazaric (2018), "Near optimal exploration-exploitation in
//! non-communicating Markov decision processes", appendix, and their code. The grid's size
//! is a parameter, as Mutti and Restelli (2020) scale it for their solve times.

use super::grid::{MOVES, neighbour};
use super::{check_count, check_transitions, names};
use crate::error::Result;
use crate::model::{Layout, Mdp};

/// A knight on a grid (rows down, columns right): the princess at $(0,0)$, the town in the
/// top right corner, gold at $(\text{rows}-1, 1)$, the dragon at $(0,1)$, $(1,0)$ or $(1,1)$.
///
/// A state is the knight's cell, whether he has gold, the dragon's place and what he owns
/// (nothing, key, armour, both). Actions: right, down, left, up, collect, buy key, buy
/// armour, stay. In armour a move succeeds with 0.5 and collecting with 0.01, otherwise
/// always. Buying needs the town and gold; it spends the gold and adds the object (even one
/// already owned). Then the dragon moves: from $(0,1)$ or $(1,0)$ it stays with 0.4 and goes
/// to $(1,1)$ with 0.6; from $(1,1)$ to $(0,1)$ with 0.4, to $(1,0)$ with 0.2, and stays
/// with 0.4. As in the original code, collecting away from the gold in armour holds the
/// dragon for that step. On the dragon's new cell without armour, or on the princess with
/// the key, the knight starts over: in town, with nothing, the dragon anywhere with equal
/// probability; this is also the start.
///
/// So 24 combinations never occur (on the dragon without armour, on the princess with the
/// key); they are left out, which leaves $24 \cdot \text{rows} \cdot \text{columns} - 24$.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnightQuest {
    /// Rows of the grid, at least 3.
    pub rows: usize,
    /// Columns of the grid, at least 3.
    pub columns: usize,
}

impl Default for KnightQuest {
    fn default() -> Self {
        KnightQuest {
            rows: 4,
            columns: 4,
        }
    }
}

const DRAGON_CELLS: [(usize, usize); 3] = [(0, 1), (1, 0), (1, 1)];
const DRAGON_MOVES: [[f64; 3]; 3] = [[0.4, 0.0, 0.6], [0.0, 0.4, 0.6], [0.4, 0.2, 0.4]];
const PRINCESS: (usize, usize) = (0, 0);
const KEY: usize = 1;
const ARMOUR: usize = 2;
const OBJECTS: [&str; 4] = ["nothing", "key", "armour", "key and armour"];
/// Combinations of gold, dragon and objects per cell.
const PER_CELL: usize = 2 * 3 * 4;

#[derive(Clone, Copy)]
struct State {
    cell: (usize, usize),
    gold: usize,
    dragon: usize,
    owns: usize,
}

impl State {
    fn ends_quest(self) -> bool {
        (self.cell == DRAGON_CELLS[self.dragon] && self.owns & ARMOUR == 0)
            || (self.cell == PRINCESS && self.owns & KEY != 0)
    }
}

impl KnightQuest {
    /// Checks the parameters.
    pub fn validate(&self) -> Result<()> {
        // with two rows or columns the gold or the town would lie in the dragon's reach
        check_count("rows", self.rows, 3, u32::MAX as usize - 1)?;
        check_count("columns", self.columns, 3, u32::MAX as usize - 1)?;
        check_transitions(
            "rows x columns x 24 states x 8 actions x 6 successors",
            &[self.rows, self.columns, PER_CELL, 8, 6],
        )
    }

    fn code(&self, state: State) -> usize {
        let cell = state.cell.0 * self.columns + state.cell.1;
        ((cell * 2 + state.gold) * 3 + state.dragon) * 4 + state.owns
    }

    fn decode(&self, code: usize) -> State {
        let cell = code / PER_CELL;
        State {
            cell: (cell / self.columns, cell % self.columns),
            gold: code / 12 % 2,
            dragon: code / 4 % 3,
            owns: code % 4,
        }
    }

    fn restart(&self, dragon: usize) -> State {
        State {
            cell: (0, self.columns - 1),
            gold: 0,
            dragon,
            owns: 0,
        }
    }

    /// The knight's part of a step: at most two outcomes.
    fn knight(&self, state: State, action: usize) -> [(State, f64); 2] {
        let armoured = state.owns & ARMOUR != 0;
        let town = state.cell == (0, self.columns - 1);
        let mut after = state;
        let mut success = 1.0;
        match action {
            0..=3 => {
                let (_, down, right) = MOVES[action];
                if let Some(cell) = neighbour(state.cell, (down, right), (self.rows, self.columns))
                {
                    after.cell = cell;
                }
                success = if armoured { 0.5 } else { 1.0 };
            }
            4 if state.cell == (self.rows - 1, 1) => {
                after.gold = 1;
                success = if armoured { 0.01 } else { 1.0 };
            }
            5 | 6 if town && state.gold == 1 => {
                after.gold = 0;
                after.owns |= if action == 5 { KEY } else { ARMOUR };
            }
            _ => {}
        }
        [(after, success), (state, 1.0 - success)]
    }

    /// All successors of a state, possibly repeated.
    fn step(&self, state: State, action: usize, mut each: impl FnMut(State, f64)) {
        let held = action == 4 && state.owns & ARMOUR != 0 && state.cell != (self.rows - 1, 1);
        for (after, p) in self.knight(state, action) {
            for (dragon, &moves) in DRAGON_MOVES[state.dragon].iter().enumerate() {
                let stays = f64::from(u8::from(dragon == state.dragon));
                let q = if held { stays } else { moves };
                if p * q == 0.0 {
                    continue;
                }
                let next = State { dragon, ..after };
                if next.ends_quest() {
                    for dragon in 0..3 {
                        each(self.restart(dragon), p * q / 3.0);
                    }
                } else {
                    each(next, p * q);
                }
            }
        }
    }

    /// Builds the model.
    pub fn build(&self) -> Result<Mdp> {
        self.validate()?;
        let all = self.rows * self.columns * PER_CELL;
        let codes: Vec<usize> = (0..all)
            .filter(|&code| !self.decode(code).ends_quest())
            .collect();
        let mut number = vec![u32::MAX; all];
        for (state, &code) in codes.iter().enumerate() {
            number[code] = state as u32;
        }
        let n = codes.len();
        let mut start = vec![0.0; n];
        for dragon in 0..3 {
            start[number[self.code(self.restart(dragon))] as usize] = 1.0 / 3.0;
        }
        let mut mdp = Mdp::from_fn(n, 8, |state, action, row| {
            self.step(self.decode(codes[state]), action, |next, p| {
                // an impossible state would be u32::MAX here and be refused by the model
                row.push((number[self.code(next)] as usize, p));
            });
            true
        })?
        .with_start(start)?
        .with_action_names(names(&[
            "right",
            "down",
            "left",
            "up",
            "collect",
            "buy key",
            "buy armour",
            "stay",
        ]))?;
        if n <= 10_000 {
            let name = |&code: &usize| {
                let s = self.decode(code);
                let (dragon, gold) = (DRAGON_CELLS[s.dragon], ["no gold", "gold"][s.gold]);
                format!(
                    "({},{}) {gold}, {}, dragon ({},{})",
                    s.cell.0, s.cell.1, OBJECTS[s.owns], dragon.0, dragon.1
                )
            };
            mdp = mdp.with_state_names(codes.iter().map(name).collect())?;
        }
        Ok(mdp.with_layout(Layout {
            rows: self.rows,
            columns: self.columns,
            cells: codes.iter().map(|code| code / PER_CELL).collect(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_360_states_and_8_actions() {
        let mdp = KnightQuest::default().build().unwrap();
        assert_eq!((mdp.n_states(), mdp.n_pairs()), (360, 2880));
        assert_eq!(mdp.layout().unwrap().rows, 4);
    }

    #[test]
    fn impossible_states_never_occur_at_any_size() {
        for (rows, columns) in [(3, 3), (4, 4), (6, 6), (3, 5)] {
            let quest = KnightQuest { rows, columns };
            let all = rows * columns * PER_CELL;
            let possible: Vec<State> = (0..all)
                .map(|code| quest.decode(code))
                .filter(|s| !s.ends_quest())
                .collect();
            assert_eq!(possible.len(), all - 24);
            for &state in &possible {
                assert_eq!(
                    quest.code(quest.decode(quest.code(state))),
                    quest.code(state)
                );
                for action in 0..8 {
                    quest.step(state, action, |next, _| assert!(!next.ends_quest()));
                }
            }
            assert_eq!(quest.build().unwrap().n_states(), all - 24);
        }
    }

    #[test]
    fn every_state_can_be_reached_from_the_start() {
        let mdp = KnightQuest::default().build().unwrap();
        let mut seen = vec![false; 360];
        let mut queue: Vec<usize> = (0..360).filter(|&s| mdp.start()[s] > 0.0).collect();
        assert_eq!(queue.len(), 3);
        while let Some(s) = queue.pop() {
            if !std::mem::replace(&mut seen[s], true) {
                for pair in mdp.pairs(s) {
                    queue.extend(mdp.row(pair).entries().map(|(t, _)| t));
                }
            }
        }
        assert_eq!(seen.iter().filter(|s| **s).count(), 360);
    }

    #[test]
    fn one_step_by_hand() {
        let quest = KnightQuest::default();
        let mdp = quest.build().unwrap();
        let find = |name: &str| {
            let names = mdp.state_names().unwrap();
            names.iter().position(|n| n == name).unwrap()
        };
        let from = find("(0,2) no gold, nothing, dragon (1,1)");
        // left, onto (0,1): the dragon comes there with 0.4
        let pair = mdp.pairs(from).start + 2;
        let mut expected = vec![0.0; 360];
        expected[find("(0,1) no gold, nothing, dragon (1,0)")] = 0.2;
        expected[find("(0,1) no gold, nothing, dragon (1,1)")] = 0.4;
        for dragon in ["(0,1)", "(1,0)", "(1,1)"] {
            expected[find(&format!("(0,3) no gold, nothing, dragon {dragon}"))] = 0.4 / 3.0;
        }
        for (found, expected) in mdp.kernel().to_dense()[pair].iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-15);
        }
        // buying a second armour still spends the gold
        let rich = find("(0,3) gold, armour, dragon (0,1)");
        let poor = find("(0,3) no gold, armour, dragon (0,1)");
        let row = mdp.row(mdp.pairs(rich).start + 6);
        assert!(
            row.entries()
                .any(|(t, p)| t == poor && (p - 0.4).abs() < 1e-15)
        );
        // collecting away from the gold in armour holds the dragon
        let row = mdp.row(mdp.pairs(poor).start + 4);
        assert_eq!(row.entries().collect::<Vec<_>>(), [(poor, 1.0)]);
    }
}
