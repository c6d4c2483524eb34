"""Which sensitive values the rows of a bucket can have, given what each of them cannot have.

A bucket's values belong to its rows one to one. A value is valid for a row where some assignment
gives it to the row and no row a value that it cannot have: not every value that a row could have
by itself is, since others may need it more [Li08, Section V-A, Definition 1].

`assignments` asks this of all buckets of a release at once, or of one bucket; the kernel answers.
`weighing` counts the assignments of one bucket, for how likely each value is.
"""

from __future__ import annotations

from shoal.knowledge.matching.assignments import (
    Occupants,
    matching_values,
    simple_values,
    valid_of_bucket,
)
from shoal.knowledge.matching.weighing import largest_posteriors, posteriors_of_bucket
from shoal.knowledge.matching.words import Words, count_values, marks_of, words_of

__all__ = [
    "Occupants",
    "Words",
    "count_values",
    "largest_posteriors",
    "marks_of",
    "matching_values",
    "posteriors_of_bucket",
    "simple_values",
    "valid_of_bucket",
    "words_of",
]
