"""Fuzzing inputs for hypothesis: random bytes, and mutations of valid inputs."""

from hypothesis import strategies as st

SPECIAL: tuple[bytes, ...] = (
    b"\0",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"-1",
    b"1e999",
    b"NaN",
    b"null",
    b"{" * 99,
)
SPECIAL += (b"[" * 2000, b"<" * 99, b"<!--", b"&#x110000;", b'"', b"\n", b"\r", b"../", b"9" * 30)


@st.composite
def inputs(draw: st.DrawFn, seeds: tuple[bytes, ...]) -> bytes:
    """Draw random bytes, or a seed with parts changed, dropped, repeated or swapped."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.binary(max_size=300))
    raw = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(raw)))
        end = min(len(raw), start + draw(st.integers(0, 40)))
        part = draw(
            st.sampled_from(SPECIAL)
            | st.binary(max_size=8)
            | st.sampled_from([b"", raw[start:end] * 3, seeds[0][start:end]])
        )
        raw = raw[:start] + part + raw[end:]
    return raw
