"""Rules that betray private cells, and further cells to blank so that none is left.

`mine` finds all adversarial rules of a table with private cells (FAiR), `base_rates` the values
that can be guessed without a rule, and `hide` blanks few further cells so that no rule is left
(GraDeS; `grades` is the plain algorithm of the paper). `categorize` returns the paper's category of
an itemset.

References
----------
[Aggarwal06] C. C. Aggarwal, J. Pei, B. Zhang: On Privacy Preservation against Adversarial Data
Mining. KDD 2006.
"""
