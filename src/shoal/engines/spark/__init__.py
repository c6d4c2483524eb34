"""Tables in the user's own Spark session."""
