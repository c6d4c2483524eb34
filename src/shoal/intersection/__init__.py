"""What several releases of one table reveal together."""
