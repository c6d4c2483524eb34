"""The experiments of the four papers, one module a paper.

Each module gives what it can run as `PLANNED`, in the order of the paper.
"""
