"""One module per verb: what a steward does with a table, from reading it to checking a release."""
