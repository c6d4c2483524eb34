"""What methods require of every bucket, decided exactly.

A method that builds buckets one by one asks many times whether a bucket keeps its guarantees.
`Requirements` states them for one table: whether the whole table keeps them (else nothing will),
and the rules by which a compiled kernel decides for a part of it.
"""
