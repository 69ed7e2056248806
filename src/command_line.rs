//! The command line that was given, and what several commands read from it.

use anyhow::bail;

/// What was typed, ready to be pasted into a shell, without `--resume` and `--overwrite`.
pub(crate) fn typed() -> String {
    let mut words = std::env::args();
    let program = words.next().unwrap_or_default();
    // where the program lies is nobody's business in a report
    let program = program.rsplit(['/', '\\']).next().unwrap_or_default();
    let words = words.filter(|word| word != "--resume" && word != "--overwrite");
    let all = std::iter::once(program.to_owned()).chain(words);
    all.map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
}

/// The command that goes on after an interruption.
pub(crate) fn to_resume() -> String {
    format!("{} --resume", typed())
}

/// How many threads `--threads` asks for; all cores without it.
pub(crate) fn threads(given: Option<usize>) -> anyhow::Result<usize> {
    match given {
        Some(0) => bail!("--threads 0: at least 1 is needed"),
        Some(n) => Ok(n),
        None => Ok(std::thread::available_parallelism().map_or(1, std::num::NonZero::get)),
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_the_shell() {
        assert_eq!(quoted("garnet:states=10"), "garnet:states=10");
        assert_eq!(quoted("my file's"), r"'my file'\''s'");
    }
}
