"""Injector: mine background knowledge from the table, and keep buckets diverse in spite of it.

To read the paper beside the code: `miners`, `crisp_mining` and `fuzzy_mining` (Section IV),
`matching` (V-A, V-B), `plain_bucketization` and `bucketization` (V-C, Figure 2: as printed, and
fast), `method`, and `attack`.

References
----------
[Li08] T. Li, N. Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008.
"""
