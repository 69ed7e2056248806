//! Passes over the tree of fronts: children before parents or after them, subtrees shared among
//! threads. Every front is changed by one call alone, so that results do not depend on the threads.

use super::Front;
use super::symbolic::Node;

/// Subtrees with less work than this, in multiplications, stay on one thread.
const SHARED: u64 = 400_000;

/// The root of a subtree with its front, and the fronts below.
pub(super) fn last<'a>(
    nodes: &'a [Node],
    fronts: &'a mut [Front],
) -> (&'a Node, (&'a mut Front, &'a [Front])) {
    let at = nodes.len() - 1;
    let (below, root) = fronts.split_at_mut(at);
    (&nodes[at], (&mut root[0], below))
}

/// Calls `run(nodes of a subtree, number of its first node, their fronts)` for every subtree, those
/// within it first. Returns whether all calls did.
pub(super) fn forest(
    (nodes, ends): (&[Node], &[usize]),
    fronts: &mut [Front],
    run: &(impl Fn(&[Node], usize, &mut [Front]) -> bool + Sync),
) -> bool {
    parts(nodes, 0, ends, fronts, run)
}

/// The same for consecutive subtrees that end at `ends`, numbers in the whole tree.
fn parts(
    nodes: &[Node],
    base: usize,
    ends: &[usize],
    fronts: &mut [Front],
    run: &(impl Fn(&[Node], usize, &mut [Front]) -> bool + Sync),
) -> bool {
    match ends {
        [] => true,
        [end] => subtree(&nodes[..end - base], base, &mut fronts[..end - base], run),
        _ => {
            let half = ends.len() / 2;
            let cut = ends[half - 1] - base;
            let (first, second) = fronts.split_at_mut(cut);
            let work: u64 = ends
                .iter()
                .map(|end| nodes[end - base - 1].work_below)
                .sum();
            let one = |fronts: &mut [Front]| parts(&nodes[..cut], base, &ends[..half], fronts, run);
            let two =
                |fronts: &mut [Front]| parts(&nodes[cut..], base + cut, &ends[half..], fronts, run);
            if work > SHARED {
                let (one, two) = rayon::join(|| one(first), || two(second));
                one && two
            } else {
                one(first) && two(second)
            }
        }
    }
}

fn subtree(
    nodes: &[Node],
    base: usize,
    fronts: &mut [Front],
    run: &(impl Fn(&[Node], usize, &mut [Front]) -> bool + Sync),
) -> bool {
    let end = nodes.len() - 1;
    let below = parts(
        &nodes[..end],
        base,
        &nodes[end].ends,
        &mut fronts[..end],
        run,
    );
    below && run(nodes, base, fronts)
}

/// Calls `run(node, its front, the parent's front and size)` for every node, parents first.
pub(super) fn descend(
    (nodes, ends): (&[Node], &[usize]),
    fronts: &mut [Front],
    run: &(impl Fn(&Node, &mut Front, Option<(&Front, usize)>) + Sync),
) {
    descend_parts(nodes, 0, ends, fronts, None, run);
}

fn descend_parts(
    nodes: &[Node],
    base: usize,
    ends: &[usize],
    fronts: &mut [Front],
    above: Option<(&Front, usize)>,
    run: &(impl Fn(&Node, &mut Front, Option<(&Front, usize)>) + Sync),
) {
    match ends {
        [] => {}
        [end] => {
            let (below, root) = fronts[..end - base].split_at_mut(end - base - 1);
            let node = &nodes[end - base - 1];
            run(node, &mut root[0], above);
            let here = Some((&root[0], node.size()));
            let nodes = &nodes[..end - base - 1];
            descend_parts(nodes, base, &node.ends, below, here, run);
        }
        _ => {
            let half = ends.len() / 2;
            let cut = ends[half - 1] - base;
            let (first, second) = fronts.split_at_mut(cut);
            let work: u64 = ends
                .iter()
                .map(|end| nodes[end - base - 1].work_below)
                .sum();
            let one = |fronts: &mut [Front]| {
                descend_parts(&nodes[..cut], base, &ends[..half], fronts, above, run);
            };
            let two = |fronts: &mut [Front]| {
                let nodes = &nodes[cut..];
                descend_parts(nodes, base + cut, &ends[half..], fronts, above, run);
            };
            if work > SHARED {
                rayon::join(|| one(first), || two(second));
            } else {
                one(first);
                two(second);
            }
        }
    }
}
