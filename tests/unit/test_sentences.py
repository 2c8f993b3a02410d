"""Where a sentence ends: at a full stop, unless that only shortens a word."""

import pytest

from clearwell.text.sentences import split_sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Customers can call the hotline from 7 a.m. to 9 p.m. on weekdays. Sundays are free.",
            ["Customers can call the hotline from 7 a.m. to 9 p.m. on weekdays.", "Sundays are free."],
        ),
        ("It opens at 7 a.m. Customers wait.", ["It opens at 7 a.m.", "Customers wait."]),
        ("Use a queue, e.g. Kafka, or a table.", ["Use a queue, e.g. Kafka, or a table."]),
        ("Two regions, i.e. Oslo and Lima, fail.", ["Two regions, i.e. Oslo and Lima, fail."]),
        ("Dr. Meyer signed it. Mr. Li did not.", ["Dr. Meyer signed it.", "Mr. Li did not."]),
        ("See ticket No. 5 first. No. We must not.", ["See ticket No. 5 first.", "No.", "We must not."]),
        ("Logs, dumps, etc. are kept. All of them.", ["Logs, dumps, etc. are kept.", "All of them."]),
        ("The U.S. office closes. It moves.", ["The U.S. office closes.", "It moves."]),
        ("the gateway is down. we must scale it.", ["the gateway is down.", "we must scale it."]),
        ("Open from 7 a.m.\nto be decided", ["Open from 7 a.m.", "to be decided"]),
        ("营业时间为七点。周日休息！  好的", ["营业时间为七点。", "周日休息！", "好的"]),
        ("  \n\n", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert split_sentences(text) == expected


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ('They read "Who pays? A survey." in May. It was short.', 2),
        ("They read 'Who pays?' in May, and liked it.", 1),
        ("He asked 'Who pays?' Nobody knew.", 2),
        ("The boss's desk is new. The clerks' desks aren't.", 2),
        ("她问：“谁付？没人知道。”大家都笑了。", 3),
    ],
)
def test_a_title_in_quotation_marks_is_not_split(text: str, sentences: int) -> None:
    assert len(split_sentences(text)) == sentences
