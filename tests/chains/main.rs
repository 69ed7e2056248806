//! Markov chains: stationary distributions, spectra, mixing, faint transitions, the domains'
//! analyses.

mod chain;
mod chain_faint;
mod domain_analysis;
mod slow;
