"""Beliefs compared with the truth: the one scale on which every attack is judged."""
