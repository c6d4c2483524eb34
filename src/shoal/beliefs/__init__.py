"""Adversaries with prior beliefs: priors, posteriors, and how much a release changes them."""
