"""Checks of foreground safety; they share no code with the method or the attack."""
