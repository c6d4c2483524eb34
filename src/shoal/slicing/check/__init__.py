"""Checks of sliced diversity; they share no code with the methods."""
