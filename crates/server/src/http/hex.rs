//! Bytes as text: two digits each.

pub(crate) fn encode(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let digits = text.as_bytes().iter().map(digit).collect::<Option<Vec<u8>>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_read_back_and_nonsense_does_not() {
        let bytes = [0, 1, 0x7f, 0xff];
        assert_eq!(encode(&bytes), "00017fff");
        assert_eq!(decode("00017FFf"), Some(bytes.to_vec()));
        assert_eq!((decode(""), decode("0"), decode("0g"), decode("ü")), (Some(vec![]), None, None, None));
    }
}
