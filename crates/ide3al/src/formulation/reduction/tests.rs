use super::*;

/// 0 can stay or go to 1; 1 can stay or go back; 2 only enters 0.
#[test]
fn end_components_depend_on_xi() {
    let mdp = Mdp::from_triplets(
        3,
        2,
        [
            (0, 0, 0, 1.0),
            (0, 1, 1, 1.0),
            (1, 0, 1, 1.0),
            (2, 0, 0, 0.5),
            (2, 0, 2, 0.5),
        ],
    )
    .unwrap();
    // without xi: {0} by staying, {1}; with xi only {1} is closed
    let free = components(&mdp, 0.0).unwrap();
    assert_eq!(free.len(), 2);
    assert_eq!((&free[0].states[..], free[0].pairs()), (&[0][..], &[0][..]));
    let forced = components(&mdp, 0.1).unwrap();
    assert_eq!(forced.len(), 1);
    assert_eq!(forced[0].states, [1]);
}

/// The end components by the definition: of all sets of states the maximal ones that some of the
/// allowed pairs (with `all`, all pairs) connect without leaving them.
fn by_all_sets(mdp: &Mdp, all: bool, allowed: &[bool]) -> Vec<Vec<usize>> {
    let n = mdp.n_states();
    let mut found: Vec<u32> = Vec::new();
    for set in 1..1u32 << n {
        let is_in = |s: usize| set >> s & 1 == 1;
        let stays = |pair: usize| {
            let row = mdp.row(pair);
            let inside = row.entries().all(|(t, p)| p == 0.0 || is_in(t));
            allowed[pair] && inside && (row.spread == 0.0 || set.count_ones() as usize == n)
        };
        let states: Vec<usize> = (0..n).filter(|s| is_in(*s)).collect();
        let plays = |s: &usize| {
            let mut pairs = mdp.pairs(*s);
            if all {
                pairs.all(stays)
            } else {
                pairs.any(stays)
            }
        };
        let reaches_all = |from: usize| {
            let mut reached = 1u32 << from;
            for _ in 0..n {
                let before = reached;
                for s in states.iter().filter(|s| before >> **s & 1 == 1) {
                    for pair in mdp.pairs(*s).filter(|pair| stays(*pair)) {
                        let row = mdp.row(pair);
                        let entries = row.entries().filter(|(_, p)| *p > 0.0);
                        let uniform = if row.spread > 0.0 { set } else { 0 };
                        reached |= entries.fold(uniform, |set, (t, _)| set | 1 << t);
                    }
                }
            }
            reached == set
        };
        if states.iter().all(plays) && states.iter().all(|s| reaches_all(*s)) {
            found.retain(|smaller| smaller & set != *smaller);
            found.push(set);
        }
    }
    let states = |set: u32| (0..n).filter(|s| set >> s & 1 == 1).collect();
    let mut found: Vec<Vec<usize>> = found.into_iter().map(states).collect();
    found.sort();
    found
}

/// On random models of up to six states with few transitions, uniform rows and forbidden pairs.
#[test]
fn end_components_are_those_of_the_definition() {
    let mut random = 7u64;
    let mut draw = |n: u64| {
        random = random
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (random >> 33) % n
    };
    let mut kinds = [0; 4];
    for case in 0..3_000 {
        let (n, actions) = (1 + draw(6) as usize, 1 + draw(3) as usize);
        let rows = (0..n * actions).map(|_| {
            let uniform = draw(12) == 0;
            let mut row = vec![0.0; n];
            for _ in 0..1 + draw(2) {
                row[draw(n as u64) as usize] += 1.0;
            }
            let sum: f64 = row.iter().sum();
            let spread = if uniform { 0.5 } else { 0.0 };
            (
                row.iter().map(|x| x / sum * (1.0 - spread)).collect(),
                spread,
            )
        });
        let (dense, spread): (Vec<Vec<f64>>, Vec<f64>) = rows.unzip();
        let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for (t, p) in dense.iter().flat_map(|row| {
            let entries = row.iter().enumerate().filter(|(_, p)| **p > 0.0);
            entries.map(|(t, p)| (Some(t), *p)).chain([(None, 0.0)])
        }) {
            match t {
                Some(t) => {
                    indices.push(t as u32);
                    values.push(p);
                }
                None => offsets.push(indices.len()),
            }
        }
        let has_spread = spread.iter().any(|x| *x > 0.0);
        let spread = if has_spread { spread } else { Vec::new() };
        let kernel = Kernel::from_raw(n, offsets, indices, values, spread);
        let first_pair = (0..=n).map(|s| s * actions).collect();
        let labels = (0..n * actions)
            .map(|pair| (pair % actions) as u32)
            .collect();
        let mdp = Mdp::from_parts(first_pair, labels, kernel, vec![1.0 / n as f64; n]);
        let forbids = draw(2) == 0;
        let allowed: Vec<bool> = (0..mdp.n_pairs())
            .map(|_| !forbids || draw(4) > 0)
            .collect();
        for xi in [0.0, 0.1] {
            let (left, number) = end_components(&mdp, xi, allowed.clone());
            let mut sets = std::collections::BTreeMap::<u32, Vec<usize>>::new();
            for s in visited(&mdp, &left) {
                sets.entry(number[s]).or_default().push(s);
            }
            let mut sets: Vec<Vec<usize>> = sets.into_values().collect();
            sets.sort();
            assert_eq!(sets, by_all_sets(&mdp, xi > 0.0, &allowed), "{case} {xi}");
            kinds[sets.len().min(3)] += 1;
        }
    }
    // none, one, several
    assert!(kinds.iter().all(|count| *count > 20), "{kinds:?}");
}

/// Each state can stay, or go up or back to the start; the last one is forbidden, so that one state
/// after another stands apart.
#[test]
fn a_long_chain_falls_apart_quickly() {
    let n = 100_000;
    let mdp = Mdp::from_fn(n, 2, |s, a, next| {
        if a == 0 {
            next.push((s, 1.0));
        } else {
            next.extend([(0, 0.5), ((s + 1).min(n - 1), 0.5)]);
        }
        true
    })
    .unwrap();
    let mut allowed = vec![true; 2 * n];
    allowed[2 * n - 2..].fill(false);
    let (left, number) = end_components(&mdp, 0.0, allowed.clone());
    assert!((0..n - 1).all(|s| left[2 * s] && !left[2 * s + 1]));
    let mut numbers = number[..n - 1].to_vec();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), n - 1);
    // where all actions are played none of them can be visited for ever
    let (left, _) = end_components(&mdp, 0.1, allowed);
    assert!(!left.contains(&true));
}

/// Estimates hold entries of probability 0 where every episode was cut.
#[test]
fn entries_of_probability_zero_lead_nowhere() {
    let kernel = Kernel::from_raw(
        2,
        vec![0, 2, 3],
        vec![0, 1, 0],
        vec![1.0, 0.0, 1.0],
        Vec::new(),
    );
    let mdp = Mdp::from_parts(vec![0, 1, 2], vec![0, 0], kernel, vec![1.0, 0.0]);
    let parts = components(&mdp, 0.0).unwrap();
    assert_eq!(parts.len(), 1);
    assert_eq!(parts[0].states, [0]);
    let row: Vec<(usize, f64)> = parts[0].mdp.row(0).entries().collect();
    assert_eq!(row, [(0, 1.0)]);
}
