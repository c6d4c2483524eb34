"""What an adversary may know, and how it is found: rules, priors, distributions, matchings.

Code that methods and attacks both need lives here, since neither may import the other.
"""
