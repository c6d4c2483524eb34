"""Checks of matching diversity; they share no code with the methods."""
