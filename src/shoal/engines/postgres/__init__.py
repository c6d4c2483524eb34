"""Tables in a Postgres database."""
