"""A reader of the documentation: takes pages apart, and types what they show."""
