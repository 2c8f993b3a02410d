"""What is said with everything says nothing."""

import numpy as np

from clearwell.flow.digest.drafting.boilerplate import find_boilerplate
from clearwell.records import Vector
from tests.unit.test_digest_draft import SAYINGS, drafted, row, similarity, vector

LEADS = ("Before I forget: ", "给没参加会议的同事：")
TAILS = (" This was checked again today.", "今天又核对了一遍。")


def _vectors(*subjects: str) -> Vector:
    return np.stack([vector(subject, at) for at, subject in enumerate(subjects)])


def test_lead_ins_and_closing_words_beside_different_matters_are_left_out() -> None:
    subjects = list(SAYINGS)[:4]
    for language in (0, 1):
        texts = [LEADS[language] + SAYINGS[subject][language] + TAILS[language] for subject in subjects]
        found = find_boilerplate(texts, _vectors(*subjects), similarity)
        assert [found.remove_from(text) for text in texts] == [SAYINGS[subject][language] for subject in subjects]


def test_what_is_left_ends_in_no_comma() -> None:
    subjects = list(SAYINGS)[:4]
    for language, tail in ((0, ", as noted today."), (1, "，今天又核对了一遍。")):
        bare = [SAYINGS[subject][language].rstrip(".。") for subject in subjects]
        found = find_boilerplate([text + tail for text in bare], _vectors(*subjects), similarity)
        assert [found.remove_from(text + tail) for text in bare] == bare


def test_what_begins_texts_of_one_matter_is_a_part_of_it() -> None:
    texts = [f"Orders cluster: {rest}" for rest in ("two nodes.", "snapshots at noon.", "owned by Ann.", "in Lyon.")]
    found = find_boilerplate(texts, _vectors(*["gateway"] * 4), similarity)
    assert [found.remove_from(text) for text in texts] == texts


def test_a_text_is_never_left_without_words() -> None:
    subjects = list(SAYINGS)[:4]
    texts = [LEADS[0] + SAYINGS[subject][0] for subject in subjects]
    found = find_boilerplate(texts, _vectors(*subjects), similarity)
    assert found.remove_from("Before I forget:") == "Before I forget:"
    assert found.remove_from("") == ""


def test_boilerplate_is_neither_a_denial_nor_quoted() -> None:
    rows = []
    for at, (subject, (english, _)) in enumerate(SAYINGS.items()):
        rows += [
            row(10 * at, subject, english, "a"),
            row(10 * at + 1, subject, LEADS[0] + english, "b"),
            row(10 * at + 2, subject, english + TAILS[0], "c"),
        ]
    made = drafted(rows).drafts
    assert len(made) == len(SAYINGS)
    assert not any(one.contradictions for one in made)
    assert not any(words.strip() in one.summary for one in made for words in (LEADS[0], TAILS[0]))
