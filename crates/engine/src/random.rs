//! The one place that asks the system for random bytes: nonces, keys and tokens.

/// The system gives no random bytes; nothing that must not be guessed can be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the system gives no random numbers: {0}")]
pub struct RandomError(String);

/// Bytes that nobody can guess.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], RandomError> {
    let mut bytes = [0; N];
    #[cfg(feature = "sim")]
    if crate::simulated::fill(&mut bytes) {
        return Ok(bytes);
    }
    getrandom::fill(&mut bytes).map_err(|error| RandomError(error.to_string()))?;
    Ok(bytes)
}
