//! How many steps to take before learning again.

/// Share of the steps so far that the next batch adds.
const GROWTH: f64 = 0.1;
/// Fewest and most steps of a small batch.
const LEAST: u64 = 10;
const MOST: u64 = 200;

/// Steps of the next batch after `steps` of them, in a budget of `budget`: a tenth of the steps so
/// far, and at least a hundredth of the budget, between 10 and 200. So an agent learns some dozen
/// times within any budget, early when every step tells something new, and the number of updates
/// grows with the logarithm of the steps.
pub fn growing_batch(steps: u64, budget: u64) -> u64 {
    let least = (budget / 100).clamp(LEAST, MOST);
    ((steps as f64 * GROWTH) as u64).max(least)
}

#[cfg(test)]
mod tests {
    use super::growing_batch;

    #[test]
    fn many_updates_within_any_budget() {
        for budget in [100, 1_000, 20_000, 1_000_000] {
            let (mut steps, mut updates) = (0, 0);
            while steps < budget {
                steps += growing_batch(steps, budget);
                updates += 1;
            }
            assert!((10..=110).contains(&updates), "{updates} in {budget}");
        }
    }
}
