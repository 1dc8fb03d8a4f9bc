"""Fuzzing inputs for hypothesis: random bytes, and mutations of valid inputs."""

from random import Random

from hypothesis import strategies as st

from tests.reliability.mutations import SPECIAL, mutate


@st.composite
def inputs(draw: st.DrawFn, seeds: tuple[bytes, ...]) -> bytes:
    """Draw random bytes, or a seed with parts changed, dropped, repeated or swapped."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.binary(max_size=300))
    raw = draw(st.sampled_from(seeds))
    if draw(st.booleans()):
        random = Random(draw(st.integers(0, 1 << 64)))
        for _ in range(random.randint(1, 4)):
            raw = mutate(raw, seeds, random)
        return raw
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
