import numpy as np
import pytest

from shoal.core.cells import Buckets
from shoal.core.domain import Domain


@pytest.fixture
def buckets_of():
    """Make buckets from lists of texts, one list a bucket; None is the missing value."""

    def build(*buckets, order=None):
        texts = [text for bucket in buckets for text in bucket]
        present = list(order) if order else sorted({text for text in texts if text is not None})
        domain = Domain.of_texts("disease", present, has_missing=None in texts)
        numbers = np.repeat(np.arange(len(buckets)), [len(bucket) for bucket in buckets])
        return Buckets.of_pairs(numbers.astype(np.int64), domain.codes_of(texts), domain)

    return build


@pytest.fixture
def counts_of():
    """Make buckets from matrices of counts: one row a bucket, one column a value."""

    def build(matrix):
        matrix = np.asarray(matrix, dtype=np.int64)
        bucket, value = np.nonzero(matrix)
        domain = Domain.of_texts("disease", [f"value {code:05}" for code in range(matrix.shape[1])])
        return Buckets.of_pairs(bucket, value, domain, matrix[bucket, value])

    return build


@pytest.fixture
def inpatients(buckets_of):
    """[Machanavajjhala06] Figure 3: the 3-diverse inpatient microdata."""
    return buckets_of(
        ["heart", "viral", "cancer", "cancer"],
        ["cancer", "heart", "viral", "viral"],
        ["heart", "viral", "cancer", "cancer"],
    )


@pytest.fixture
def four_anonymous_inpatients(buckets_of):
    """[Machanavajjhala06] Figure 2: 4-anonymous, and everybody in the last bucket has cancer."""
    return buckets_of(
        ["heart", "heart", "viral", "viral"],
        ["cancer", "heart", "viral", "viral"],
        ["cancer", "cancer", "cancer", "cancer"],
    )
